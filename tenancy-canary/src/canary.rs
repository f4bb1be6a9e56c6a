//! The planted text, and finding it again.

use std::fmt;

use data_encoding::{BASE64, HEXLOWER};
use serde::Serialize;
use uuid::Uuid;

/// A text that occurs nowhere else: random for each run, probe and tenant.
///
/// Whoever is handed it was handed the tenant's data. `Debug` shows nothing of it, so that a log of the run is not
/// mistaken for a leak by the next one.
#[derive(Clone, PartialEq, Eq)]
pub struct Canary {
    text: String,
    reference: String,
}

/// In what form a canary was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// As it was planted, letter by letter; case and separators aside.
    Plain,
    /// A part of it, of 16 letters at least.
    Part,
    /// In base64, of either alphabet, at any alignment.
    Base64,
    /// In hexadecimal digits.
    Hex,
    /// Percent-encoded, once or several times.
    Percent,
    /// With JSON escapes.
    Escaped,
}

impl Canary {
    pub(crate) fn random() -> Self {
        // Letters and digits only: no tokenizer, escape or normaliser has a reason to touch them.
        let text = format!("canary{}", Uuid::new_v4().simple());
        Self { text, reference: format!("ref{}", Uuid::new_v4().simple()) }
    }

    /// The text to plant.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// A name for what is planted, an id or a path say. Random too, and no secret: the attacker is told it.
    #[must_use]
    pub fn reference(&self) -> &str {
        &self.reference
    }

    /// Looks for the canary in a text, whatever was done to it on the way.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<Form> {
        let letters = letters(text);
        if letters.contains(&self.text) {
            return Some(Form::Plain);
        }
        // Before hex: percent signs aside, a text that is percent-encoded throughout is hex.
        let decoded = [(percent_decoded(text), Form::Percent), (unescaped(text), Form::Escaped)];
        for (decoded, form) in decoded {
            if decoded != text && self.find(&decoded).is_some() {
                return Some(form);
            }
        }
        if self.in_hex(&letters) {
            return Some(Form::Hex);
        }
        if self.in_base64(text) {
            return Some(Form::Base64);
        }
        self.parts().any(|part| letters.contains(part)).then_some(Form::Part)
    }

    fn in_hex(&self, letters: &str) -> bool {
        [self.text.clone(), self.text.to_uppercase()]
            .iter()
            .any(|form| letters.contains(&HEXLOWER.encode(form.as_bytes())))
    }

    /// Three bytes become four characters, so what a text looks like depends on where it begins: each of the three
    /// alignments is looked for, without the characters at its ends that neighbours have a share in.
    fn in_base64(&self, text: &str) -> bool {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).map(standard_alphabet).collect();
        [self.text.clone(), self.text.to_uppercase()].iter().any(|form| {
            (0..3).any(|shift| {
                let shifted: Vec<u8> = std::iter::repeat_n(0, shift).chain(form.bytes()).collect();
                let whole = shifted.len() / 3 * 3;
                let encoded = BASE64.encode(&shifted[..whole]);
                text.contains(&encoded[if shift == 0 { 0 } else { 4 }..])
            })
        })
    }

    /// Windows over the random letters: the word before them is the same in every canary.
    fn parts(&self) -> impl Iterator<Item = &str> {
        let random = &self.text[self.text.len() - RANDOM..];
        (0..=RANDOM - PART).map(move |at| &random[at..at + PART])
    }
}

/// Lower-case letters and digits alone: separators, line breaks and invisible characters are where texts get split.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

const fn standard_alphabet(c: char) -> char {
    match c {
        '-' => '+',
        '_' => '/',
        other => other,
    }
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let code = (byte == b'%').then(|| bytes.get(at + 1..at + 3)).flatten().and_then(hex_byte);
        decoded.push(code.unwrap_or(byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u8::from_str_radix(digits, 16).ok()
}

/// `\u0063` and `\x63` read as `c`.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        let digits = match rest.as_bytes().get(at + 1) {
            Some(b'u') => 4,
            Some(b'x') => 2,
            _ => 0,
        };
        let code = rest.get(at + 2..at + 2 + digits).and_then(|code| u32::from_str_radix(code, 16).ok());
        match code.filter(|_| digits > 0).and_then(char::from_u32) {
            Some(c) => {
                plain.push(c);
                rest = &rest[at + 2 + digits..];
            }
            None => {
                plain.push('\\');
                rest = &rest[at + 1..];
            }
        }
    }
    plain.push_str(rest);
    plain
}

impl fmt::Debug for Canary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Canary(..)")
    }
}

/// Random letters of a canary.
const RANDOM: usize = 32;
/// Letters that are no coincidence.
const PART: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canary_is_found_in_every_form() {
        let canary = Canary::random();
        let text = canary.as_str();
        let url_safe = data_encoding::BASE64URL_NOPAD;
        let percent: String = text.bytes().map(|b| format!("%{b:02x}")).collect();
        let twice = percent.replace('%', "%25");
        let spaced: String = text.chars().flat_map(|c| [c, ' ']).collect();
        let escaped: String = text.bytes().map(|b| format!("\\u{b:04x}")).collect();
        for (haystack, form) in [
            (format!("the code is {text}."), Form::Plain),
            (text.to_uppercase(), Form::Plain),
            (spaced, Form::Plain),
            (text.replace('c', "c\u{200b}"), Form::Plain),
            (BASE64.encode(text.as_bytes()), Form::Base64),
            (BASE64.encode(format!("x{text}x").as_bytes()), Form::Base64),
            (BASE64.encode(format!("xy{text}").as_bytes()), Form::Base64),
            (url_safe.encode(format!("??>{text}").as_bytes()), Form::Base64),
            (BASE64.encode(text.to_uppercase().as_bytes()), Form::Base64),
            (format!("0x{}", HEXLOWER.encode(text.as_bytes())), Form::Hex),
            (HEXLOWER.encode(text.as_bytes()).to_uppercase(), Form::Hex),
            (percent, Form::Percent),
            (twice, Form::Percent),
            (escaped, Form::Escaped),
            (format!("..{}..", &text[10..30]), Form::Part),
            (text[..text.len() - 5].to_owned(), Form::Part),
        ] {
            assert_eq!(canary.find(&haystack), Some(form), "{haystack}");
        }
    }

    #[test]
    fn nothing_else_is() {
        let (canary, other) = (Canary::random(), Canary::random());
        for haystack in ["", "canary", "%", "%zz\\u00", "\\", other.as_str(), canary.reference(), "100%€\\uzzzz"] {
            assert_eq!(canary.find(haystack), None, "{haystack}");
        }
        assert_eq!(canary.find(&BASE64.encode(other.as_str().as_bytes())), None);
        assert_eq!(format!("{canary:?}"), "Canary(..)");
    }
}
