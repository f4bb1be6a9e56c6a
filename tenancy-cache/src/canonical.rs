//! One text for one JSON value, so that arguments that mean the same have the same key.
//!
//! RFC 8785 in what it accepts: names sorted by UTF-16 code units, numbers and texts as ECMAScript writes them. It
//! refuses where two readers could see two values in one text: a name given twice, a lone surrogate, a number that a
//! double can't hold exactly as written. A refused text is called without the cache; a wrong hit can't be taken back.
//! `serde_json::Value` is of no use here: whether it sorts names depends on a feature that any dependency may switch
//! on.

use std::fmt;
use std::iter::Peekable;
use std::str::CharIndices;

/// JSON in canonical form. Made by [`canonical_json`] only.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct CanonicalJson(String);

impl CanonicalJson {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for CanonicalJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CanonicalJson({} bytes)", self.0.len())
    }
}

/// Brings a JSON text into canonical form.
///
/// # Errors
/// [`JsonError`], with nothing of the text in it.
pub fn canonical_json(text: &str) -> Result<CanonicalJson, JsonError> {
    let mut reader = Reader { text, chars: text.char_indices().peekable() };
    let mut out = String::with_capacity(text.len());
    reader.value(&mut out, 0)?;
    reader.space();
    match reader.chars.next() {
        None => Ok(CanonicalJson(out)),
        Some(_) => Err(JsonError::Syntax),
    }
}

/// Why a text has no canonical form here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// Not JSON.
    #[error("not well-formed JSON")]
    Syntax,
    /// A name twice in one object.
    #[error("a name occurs twice in one object")]
    DuplicateName,
    /// Half of a surrogate pair.
    #[error("a lone surrogate")]
    LoneSurrogate,
    /// A number that a double does not hold exactly as it is written.
    #[error("a number that has no exact canonical form")]
    InexactNumber,
    /// Nested too deep.
    #[error("nested too deep")]
    TooDeep,
}

struct Reader<'t> {
    text: &'t str,
    chars: Peekable<CharIndices<'t>>,
}

impl Reader<'_> {
    fn value(&mut self, out: &mut String, depth: usize) -> Result<(), JsonError> {
        if depth > MAX_DEPTH {
            return Err(JsonError::TooDeep);
        }
        self.space();
        match self.peek().ok_or(JsonError::Syntax)? {
            '{' => self.object(out, depth),
            '[' => self.array(out, depth),
            '"' => {
                let text = self.string()?;
                write_text(&text, out);
                Ok(())
            }
            '-' | '0'..='9' => self.number(out),
            _ => self.word(out),
        }
    }

    fn object(&mut self, out: &mut String, depth: usize) -> Result<(), JsonError> {
        let mut members: Vec<(String, String)> = Vec::new();
        self.items('{', '}', |reader| {
            reader.space();
            let name = reader.string()?;
            reader.space();
            reader.expect(':')?;
            let mut value = String::new();
            reader.value(&mut value, depth + 1)?;
            members.push((name, value));
            Ok(())
        })?;
        members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
        if members.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(JsonError::DuplicateName);
        }
        out.push('{');
        for (at, (name, value)) in members.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            write_text(name, out);
            out.push(':');
            out.push_str(value);
        }
        out.push('}');
        Ok(())
    }

    fn array(&mut self, out: &mut String, depth: usize) -> Result<(), JsonError> {
        out.push('[');
        let mut first = true;
        self.items('[', ']', |reader| {
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            reader.value(out, depth + 1)
        })?;
        out.push(']');
        Ok(())
    }

    /// Reads `open item, item close`.
    fn items(
        &mut self,
        open: char,
        close: char,
        mut item: impl FnMut(&mut Self) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        self.expect(open)?;
        self.space();
        if self.peek() == Some(close) {
            return self.expect(close);
        }
        loop {
            item(self)?;
            self.space();
            match self.next()? {
                ',' => {}
                c if c == close => return Ok(()),
                _ => return Err(JsonError::Syntax),
            }
        }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.expect('"')?;
        let mut text = String::new();
        loop {
            match self.next()? {
                '"' => return Ok(text),
                '\\' => text.push(self.escape()?),
                c if c < ' ' => return Err(JsonError::Syntax),
                c => text.push(c),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        Ok(match self.next()? {
            c @ ('"' | '\\' | '/') => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let first = self.code_unit()?;
                if !(0xd800..0xe000).contains(&first) {
                    return char::from_u32(first).ok_or(JsonError::LoneSurrogate);
                }
                let paired = first < 0xdc00 && self.peek() == Some('\\');
                if !paired {
                    return Err(JsonError::LoneSurrogate);
                }
                self.expect('\\')?;
                self.expect('u').map_err(|_| JsonError::LoneSurrogate)?;
                let second = self.code_unit()?;
                if !(0xdc00..0xe000).contains(&second) {
                    return Err(JsonError::LoneSurrogate);
                }
                let point = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                char::from_u32(point).ok_or(JsonError::LoneSurrogate)?
            }
            _ => return Err(JsonError::Syntax),
        })
    }

    fn code_unit(&mut self) -> Result<u32, JsonError> {
        let mut unit = 0;
        for _ in 0..4 {
            unit = unit * 16 + self.next()?.to_digit(16).ok_or(JsonError::Syntax)?;
        }
        Ok(unit)
    }

    fn number(&mut self, out: &mut String) -> Result<(), JsonError> {
        let start = self.position();
        self.take('-');
        if !self.take('0') {
            self.digits()?;
        }
        if self.take('.') {
            self.digits()?;
        }
        if self.take('e') || self.take('E') {
            let _ = self.take('+') || self.take('-');
            self.digits()?;
        }
        out.push_str(&es6_number(&self.text[start..self.position()])?);
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        if !self.peek().is_some_and(|c| c.is_ascii_digit()) {
            return Err(JsonError::Syntax);
        }
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.next()?;
        }
        Ok(())
    }

    fn word(&mut self, out: &mut String) -> Result<(), JsonError> {
        let rest = &self.text[self.position()..];
        let word =
            ["true", "false", "null"].into_iter().find(|word| rest.starts_with(word)).ok_or(JsonError::Syntax)?;
        for _ in 0..word.len() {
            self.next()?;
        }
        out.push_str(word);
        Ok(())
    }

    fn space(&mut self) {
        while self.chars.next_if(|(_, c)| matches!(c, ' ' | '\t' | '\n' | '\r')).is_some() {}
    }

    fn peek(&mut self) -> Option<char> {
        self.chars.peek().map(|(_, c)| *c)
    }

    fn next(&mut self) -> Result<char, JsonError> {
        self.chars.next().map(|(_, c)| c).ok_or(JsonError::Syntax)
    }

    fn take(&mut self, wanted: char) -> bool {
        self.chars.next_if(|(_, c)| *c == wanted).is_some()
    }

    fn expect(&mut self, wanted: char) -> Result<(), JsonError> {
        if self.take(wanted) { Ok(()) } else { Err(JsonError::Syntax) }
    }

    fn position(&mut self) -> usize {
        self.chars.peek().map_or(self.text.len(), |(at, _)| *at)
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// A well-formed number as ECMAScript writes it: the shortest digits that read back as the same double, which Rust's
/// `{:e}` gives too. Refused when those digits are not the number that was written.
fn es6_number(text: &str) -> Result<String, JsonError> {
    let value: f64 = text.parse().map_err(|_| JsonError::InexactNumber)?;
    if !value.is_finite() {
        return Err(JsonError::InexactNumber);
    }
    let written = decimal(text)?;
    let (digits, power) = decimal(&format!("{value:e}"))?;
    if written != (digits.clone(), power) {
        return Err(JsonError::InexactNumber);
    }
    if digits.is_empty() {
        return Ok("0".to_owned());
    }
    let sign = if text.starts_with('-') { "-" } else { "" };
    // The value is 0.DIGITS times ten to `point`.
    let (count, point) = (digits.len() as i64, power + digits.len() as i64);
    let zeros = |n: i64| "0".repeat(usize::try_from(n).unwrap_or_default());
    let body = if count <= point && point <= 21 {
        format!("{digits}{}", zeros(point - count))
    } else if 0 < point && point <= 21 {
        let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or_default());
        format!("{whole}.{fraction}")
    } else if -6 < point && point <= 0 {
        format!("0.{}{digits}", zeros(-point))
    } else {
        let (head, tail) = digits.split_at(1);
        let dot = if tail.is_empty() { "" } else { "." };
        format!("{head}{dot}{tail}e{:+}", point - 1)
    };
    Ok(format!("{sign}{body}"))
}

/// The number as digits without zeros at either end, and the power of ten of the last digit; no digits for zero.
fn decimal(text: &str) -> Result<(String, i64), JsonError> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let exponent: i32 = exponent.parse().map_err(|_| JsonError::InexactNumber)?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0');
    let digits = significant.trim_end_matches('0');
    if digits.is_empty() {
        return Ok((String::new(), 0));
    }
    let dropped = (significant.len() - digits.len()) as i64;
    Ok((digits.to_owned(), i64::from(exponent) - fraction.len() as i64 + dropped))
}

const MAX_DEPTH: usize = 64;

#[cfg(test)]
mod tests;
