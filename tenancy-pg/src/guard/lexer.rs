//! Cuts a text into tokens where `scan.l` of the server does, with `standard_conforming_strings` on.
//!
//! Of each token only its kind is kept, and of names their text: what is inside a text, a comment or a dollar quote is
//! nobody's statement. One pass, nothing is copied. Every byte that decides is ASCII, so bytes of UTF-8 sequences are
//! never taken for one.

/// A token, or what it may stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A keyword or a name without quotes.
    Word(&'a str),
    /// What is between the quotes of a quoted name; doubled quotes are still doubled.
    Quoted(&'a str),
    /// A name written as `U&".."`, which may be any name.
    Escaped,
    Open,
    Close,
    Semicolon,
    /// A constant, a parameter, an operator.
    Other,
}

/// A text, name or comment that does not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unterminated;

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn skip_while(&mut self, mut belongs: impl FnMut(u8) -> bool) {
        while self.peek(0).is_some_and(&mut belongs) {
            self.at += 1;
        }
    }

    /// Passes spaces and comments. Within a run of operator characters, too, the server begins a comment at the first
    /// `--` or `/*`.
    fn skip_blanks(&mut self) -> Result<(), Unterminated> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(byte), _) if is_space(byte) => self.at += 1,
                (Some(b'-'), Some(b'-')) => self.skip_while(|byte| !is_newline(byte)),
                (Some(b'/'), Some(b'*')) => self.skip_nested_comment()?,
                _no_blank => return Ok(()),
            }
        }
    }

    fn skip_nested_comment(&mut self) -> Result<(), Unterminated> {
        let mut depth = 0_usize;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(b'/'), Some(b'*')) => {
                    depth += 1;
                    self.at += 2;
                }
                (Some(b'*'), Some(b'/')) => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                (Some(_), _) => self.at += 1,
                (None, _) => return Err(Unterminated),
            }
        }
    }

    /// A text constant from its quote to its end, over the lines that continue it. In an `E''` text a backslash takes
    /// the next character with it.
    fn skip_text(&mut self, backslashes: bool) -> Result<(), Unterminated> {
        loop {
            self.at += 1;
            loop {
                match (self.peek(0), self.peek(1)) {
                    (None, _) => return Err(Unterminated),
                    (Some(b'\\'), Some(_)) if backslashes => self.at += 2,
                    (Some(b'\''), Some(b'\'')) => self.at += 2,
                    (Some(b'\''), _) => break,
                    (Some(_), _) => self.at += 1,
                }
            }
            self.at += 1;
            if !self.skip_to_continuation() {
                return Ok(());
            }
        }
    }

    /// Goes to the quote that continues the text that has just ended, if there is one: after blanks with a new line in
    /// them, of which only `--` is a comment. What is continued keeps its kind, so an `E''` text goes on as one.
    fn skip_to_continuation(&mut self) -> bool {
        let end = self.at;
        let mut new_line = false;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(byte), _) if is_newline(byte) => {
                    new_line = true;
                    self.at += 1;
                }
                (Some(byte), _) if is_space(byte) => self.at += 1,
                (Some(b'-'), Some(b'-')) => {
                    self.skip_while(|byte| !is_newline(byte));
                    if self.peek(0).is_none() {
                        break;
                    }
                }
                (Some(b'\''), _) if new_line => return true,
                _other => break,
            }
        }
        self.at = end;
        false
    }

    /// The inside of a quoted name.
    fn quoted(&mut self) -> Result<&'a str, Unterminated> {
        self.at += 1;
        let start = self.at;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(b'"'), Some(b'"')) => self.at += 2,
                (Some(b'"'), _) => break,
                (Some(_), _) => self.at += 1,
                (None, _) => return Err(Unterminated),
            }
        }
        let inside = &self.text[start..self.at];
        self.at += 1;
        Ok(inside)
    }

    /// A parameter, a dollar quote, or a dollar by itself.
    fn dollar(&mut self) -> Result<(), Unterminated> {
        let start = self.at;
        self.at += 1;
        if self.peek(0).is_some_and(|byte| byte.is_ascii_digit()) {
            self.skip_while(|byte| byte.is_ascii_digit());
            return Ok(());
        }
        if self.peek(0).is_some_and(starts_word) {
            self.skip_while(|byte| byte != b'$' && continues_word(byte));
        }
        if self.peek(0) != Some(b'$') {
            self.at = start + 1;
            return Ok(());
        }
        self.at += 1;
        let delimiter = &self.text[start..self.at];
        let length = self.text[self.at..].find(delimiter).ok_or(Unterminated)?;
        self.at += length + delimiter.len();
        Ok(())
    }

    fn word(&mut self) -> &'a str {
        let start = self.at;
        self.skip_while(continues_word);
        &self.text[start..self.at]
    }

    fn token(&mut self, first: u8) -> Result<Token<'a>, Unterminated> {
        // The letter of `E''`, `B''`, `X''`, `N''` and `U&''` is one only right before the quote.
        let token = match (first, self.peek(1), self.peek(2)) {
            (b'e' | b'E', Some(b'\''), _) => {
                self.at += 1;
                self.skip_text(true)?;
                Token::Other
            }
            (b'b' | b'B' | b'x' | b'X' | b'n' | b'N', Some(b'\''), _) => {
                self.at += 1;
                self.skip_text(false)?;
                Token::Other
            }
            (b'u' | b'U', Some(b'&'), Some(b'\'')) => {
                self.at += 2;
                self.skip_text(false)?;
                Token::Other
            }
            (b'u' | b'U', Some(b'&'), Some(b'"')) => {
                self.at += 2;
                self.quoted()?;
                Token::Escaped
            }
            (b'\'', ..) => {
                self.skip_text(false)?;
                Token::Other
            }
            (b'"', ..) => Token::Quoted(self.quoted()?),
            (b'$', ..) => {
                self.dollar()?;
                Token::Other
            }
            (byte, ..) if starts_word(byte) => Token::Word(self.word()),
            // A number, and the junk after it that the server refuses: `0xE'..'` holds no `E''` text.
            (byte, ..) if byte.is_ascii_digit() => {
                self.skip_while(|byte| byte != b'$' && continues_word(byte));
                Token::Other
            }
            (byte, ..) => {
                self.at += 1;
                match byte {
                    b'(' => Token::Open,
                    b')' => Token::Close,
                    b';' => Token::Semicolon,
                    _operator => Token::Other,
                }
            }
        };
        Ok(token)
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Result<Token<'a>, Unterminated>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(unterminated) = self.skip_blanks() {
            return Some(Err(unterminated));
        }
        let first = self.peek(0)?;
        Some(self.token(first))
    }
}

/// The vertical tab is one from 16 on; before, the server refuses it.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

const fn is_newline(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

const fn starts_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii()
}

const fn continues_word(byte: u8) -> bool {
    starts_word(byte) || byte.is_ascii_digit() || byte == b'$'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        Lexer::new(text)
            .filter_map(|token| match token.unwrap() {
                Token::Word(word) | Token::Quoted(word) => Some(word),
                _other => None,
            })
            .collect()
    }

    #[test]
    fn what_is_inside_a_constant_or_comment_is_no_word() {
        for text in [
            "a 'x; y''x' b",
            r"a 'x\' b",
            r"a e'x\' x' b",
            "a E'x'\n 'x\\' x' b",
            "a E'x' -- it's a comment\n\n -- 'x\n 'x\\' x' b",
            "a U&'x\\0041' b",
            "a x'00' b",
            "a n'x' b",
            "a $$x 'x \"x $x$ $$ b",
            "a $x$ x $$ $y$ x $x$ b",
            "a $1 b",
            "a -- x\r b",
            "a /* x /* x */ ' x **/ b",
            "a +/* x */ b",
            "a 1x b",
            "a*-- x\n b",
        ] {
            assert_eq!(words(text), ["a", "b"], "{text}");
        }
        assert_eq!(words(r#"a "x"" ; 'y" b$1$ xe'c' "#), ["a", r#"x"" ; 'y"#, "b$1$", "xe"]);
        assert_eq!(words("a 'x' /* no continuation */\n 'x\\' b"), ["a", "b"]);
    }

    #[test]
    fn what_does_not_end_is_told() {
        for text in ["'x", "'x''", r"e'x\'", r"e'x\", "\"x", "$$x", "$x$ $X$", "/* /* */", "u&'x", "u&\"x", "x'0"] {
            assert!(Lexer::new(text).any(|token| token == Err(Unterminated)), "{text}");
        }
    }
}
