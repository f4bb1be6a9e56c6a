//! SPDX expressions: `MIT`, `A OR B`, `A AND (B OR C)`, `A WITH exception`; and cargo's old `A/B` for `A OR B`.

/// Whether what is allowed is enough to use the package.
pub(super) fn allows(expression: &str, allowed: &[String]) -> Result<bool, String> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut parser = Parser { words: spaced.split_whitespace().peekable(), allowed };
    let verdict = parser.any()?;
    match parser.words.next() {
        None => Ok(verdict),
        Some(word) => Err(format!("unexpected \"{word}\"")),
    }
}

struct Parser<'a, I: Iterator<Item = &'a str>> {
    words: std::iter::Peekable<I>,
    allowed: &'a [String],
}

impl<'a, I: Iterator<Item = &'a str>> Parser<'a, I> {
    fn any(&mut self) -> Result<bool, String> {
        let mut verdict = self.all()?;
        while self.words.next_if_eq(&"OR").is_some() {
            verdict |= self.all()?;
        }
        Ok(verdict)
    }

    fn all(&mut self) -> Result<bool, String> {
        let mut verdict = self.one()?;
        while self.words.next_if_eq(&"AND").is_some() {
            verdict &= self.one()?;
        }
        Ok(verdict)
    }

    fn one(&mut self) -> Result<bool, String> {
        let word = self.words.next().ok_or("it ends too early")?;
        if word == "(" {
            let verdict = self.any()?;
            return self.words.next_if_eq(&")").map(|_| verdict).ok_or_else(|| "a bracket is open".to_owned());
        }
        let mut name = word.to_owned();
        if self.words.next_if_eq(&"WITH").is_some() {
            name = format!("{name} WITH {}", self.words.next().ok_or("no exception after WITH")?);
        }
        Ok(self.allowed.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        let allowed = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
        for (expression, verdict) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("GPL-3.0 OR MIT", true),
            ("GPL-3.0/MIT", true),
            ("MIT AND GPL-3.0", false),
            ("MIT AND Zlib", true),
            // AND binds tighter.
            ("MIT OR GPL-3.0 AND LGPL-3.0", true),
            ("(MIT OR GPL-3.0) AND LGPL-3.0", false),
            ("(MIT OR GPL-3.0) AND Zlib", true),
            // An exception is part of the name.
            ("Apache-2.0 WITH LLVM-exception", true),
            ("Apache-2.0", false),
        ] {
            assert_eq!(allows(expression, &allowed), Ok(verdict), "{expression}");
        }
    }

    #[test]
    fn what_is_no_expression_is_an_error() {
        for expression in ["", "MIT OR", "(MIT", "MIT Zlib", "MIT WITH"] {
            assert!(allows(expression, &["MIT".to_owned()]).is_err(), "{expression}");
        }
    }
}
