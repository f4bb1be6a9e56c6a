//! Payloads as `jsonb` keeps them, so that they come back as they went.
//!
//! `jsonb` has no zero character, and takes `1e16` for a whole number. So the zero character is written as another one
//! that is escaped itself, and a number with a fraction is never written without a point.

use std::io;

use serde::Serialize;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, Serializer};
use serde_json::{Map, Value};

/// The text of a payload.
pub(super) fn written(payload: &Map<String, Value>) -> Result<String, serde_json::Error> {
    let mut bytes = Vec::new();
    payload.serialize(&mut Serializer::with_formatter(&mut bytes, ForJsonb))?;
    // A writer of JSON writes UTF-8.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The payload of a text.
pub(super) fn read(text: &str) -> Result<Map<String, Value>, serde_json::Error> {
    let payload: Map<String, Value> = serde_json::from_str(text)?;
    // The escape of the escape is in every text with something to undo.
    Ok(if text.contains("\\u0001") { object(payload) } else { payload })
}

/// A text as it is written within a payload.
pub(super) fn escaped(text: &str) -> String {
    text.replace(ESCAPE, "\u{1}\u{1}").replace('\0', "\u{1}0")
}

fn unescaped(text: String) -> String {
    if !text.contains(ESCAPE) {
        return text;
    }
    let mut chars = text.chars();
    let mut plain = String::with_capacity(text.len());
    while let Some(one) = chars.next() {
        plain.push(match one {
            ESCAPE if chars.next() == Some('0') => '\0',
            other => other,
        });
    }
    plain
}

fn object(map: Map<String, Value>) -> Map<String, Value> {
    map.into_iter().map(|(key, value)| (unescaped(key), plain(value))).collect()
}

fn plain(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(unescaped(text)),
        Value::Array(items) => Value::Array(items.into_iter().map(plain).collect()),
        Value::Object(map) => Value::Object(object(map)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

struct ForJsonb;

impl Formatter for ForJsonb {
    fn write_char_escape<W: ?Sized + io::Write>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()> {
        match escape {
            CharEscape::AsciiControl(0) => writer.write_all(b"\\u00010"),
            CharEscape::AsciiControl(1) => writer.write_all(b"\\u0001\\u0001"),
            other => CompactFormatter.write_char_escape(writer, other),
        }
    }

    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        if value.fract() == 0.0 { write!(writer, "{value:.1}") } else { CompactFormatter.write_f64(writer, value) }
    }
}

const ESCAPE: char = '\u{1}';

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_written_is_read() {
        for value in [
            json!({"a": "x\0y", "b\u{1}": ["\u{1}0", "\u{1}", "\0\u{1}\0"], "c": {"\0": "\u{1}\u{1}"}}),
            json!({"n": [1, 1.0, 1e16, 1e300, -1.5e-9, 0.1, u64::MAX, i64::MIN, null, true]}),
            json!({"plain": "ä\n\"\\u0001"}),
        ] {
            let payload = value.as_object().unwrap();
            let text = written(payload).unwrap();
            assert!(!text.contains("\\u0000") && !text.contains("e16"), "{text}");
            assert_eq!(&read(&text).unwrap(), payload, "{text}");
        }
        assert_eq!(escaped("\0\u{1}0"), "\u{1}0\u{1}\u{1}0");
        assert_eq!(unescaped(escaped("\0\u{1}0")), "\0\u{1}0");
    }
}
