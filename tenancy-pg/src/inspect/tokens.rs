//! The words of a printed expression.

/// One token of what `pg_get_expr` prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Open,
    Close,
    Comma,
    /// `::`
    Cast,
    /// A keyword or name, as it is printed: a name without quotes in lower case, some keywords in upper case.
    Word {
        text: String,
        quoted: bool,
    },
    Text(String),
    Number(String),
    Operator(String),
}

impl Token {
    /// Whether it is this keyword or unquoted name, in any case.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Word { text, quoted: false } if text.eq_ignore_ascii_case(word))
    }

    pub(crate) fn is_operator(&self, operator: &str) -> bool {
        matches!(self, Self::Operator(text) if text == operator)
    }
}

/// Splits an expression. `None` for anything that does not belong there: an open quote, a comment, an escape text, a
/// parenthesis without its partner.
pub(crate) fn tokens(expression: &str) -> Option<Vec<Token>> {
    let mut rest = expression;
    let mut found = Vec::new();
    let mut depth = 0_usize;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { break };
        let (token, length) = match first {
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            ',' => (Token::Comma, 1),
            ':' if rest.starts_with("::") => (Token::Cast, 2),
            '\'' => quoted(rest, '\'').map(|(text, length)| (Token::Text(text), length))?,
            '"' => quoted(rest, '"').map(|(text, length)| (Token::Word { text, quoted: true }, length))?,
            c if c.is_ascii_digit() => {
                let length = run(rest, |c| c.is_ascii_alphanumeric() || c == '.');
                (Token::Number(rest[..length].to_owned()), length)
            }
            c if is_name(c) => {
                let length = run(rest, |c| is_name(c) || c.is_ascii_digit());
                if matches!(rest.as_bytes().get(length), Some(b'\'')) {
                    return None;
                }
                (Token::Word { text: rest[..length].to_owned(), quoted: false }, length)
            }
            _other => {
                let length =
                    run(rest, |c| !is_name(c) && !c.is_whitespace() && !"()',\"".contains(c) && !c.is_ascii_digit());
                let text = &rest[..length];
                if text.contains("--") || text.contains("/*") || length == 0 {
                    return None;
                }
                (Token::Operator(text.to_owned()), length)
            }
        };
        match &token {
            Token::Open => depth += 1,
            Token::Close => depth = depth.checked_sub(1)?,
            _other => {}
        }
        found.push(token);
        rest = &rest[length..];
    }
    (depth == 0).then_some(found)
}

/// A quoted text and how many bytes it takes, quotes included.
fn quoted(from: &str, quote: char) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut characters = from.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        if c != quote {
            text.push(c);
        } else if characters.next_if(|(_, next)| *next == quote).is_some() {
            text.push(quote);
        } else {
            return Some((text, at + 1));
        }
    }
    None
}

fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

fn is_name(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hide_what_stands_between_them() {
        let found = tokens("(a = 'it''s ) OR (true'::text)").unwrap();
        assert_eq!(found[3], Token::Text("it's ) OR (true".to_owned()));
        assert_eq!(found.len(), 7);
        assert!(found[1].is_word("a") && !tokens("\"a\"").unwrap()[0].is_word("a"));
    }

    #[test]
    fn what_does_not_close_is_refused() {
        for text in ["'a", "\"a", "(a", "a)", "a -- b", "a /* b */", "E'a\\'b'"] {
            assert_eq!(tokens(text), None, "{text}");
        }
    }
}
