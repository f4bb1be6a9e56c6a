//! JSON objects in which no name occurs twice, at any depth.
//!
//! Parsers disagree on which of two equal names counts, so a proxy may have checked the one and we the other. The walk
//! for repeated names is a pass of its own: that way numbers are read by `serde_json` itself, whatever features
//! (`arbitrary_precision`) some other crate of the build switches on.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Parses one object and nothing after it. `None` for anything else, or when a name is repeated.
pub(super) fn parse_object(json: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice::<UniqueNames>(json).ok()?;
    serde_json::from_slice(json).ok()
}

/// Any value in which no object repeats a name; the value itself is dropped.
struct UniqueNames;

impl<'de> Deserialize<'de> for UniqueNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Walk)
    }
}

struct Walk;

impl<'de> Visitor<'de> for Walk {
    type Value = UniqueNames;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value without repeated names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UniqueNames, A::Error> {
        let mut seen = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if !seen.insert(name) {
                return Err(A::Error::custom("a name is repeated"));
            }
            map.next_value::<UniqueNames>()?;
        }
        Ok(UniqueNames)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<UniqueNames, A::Error> {
        while list.next_element::<UniqueNames>()?.is_some() {}
        Ok(UniqueNames)
    }

    fn visit_bool<E>(self, _: bool) -> Result<UniqueNames, E> {
        Ok(UniqueNames)
    }

    fn visit_i64<E>(self, _: i64) -> Result<UniqueNames, E> {
        Ok(UniqueNames)
    }

    fn visit_u64<E>(self, _: u64) -> Result<UniqueNames, E> {
        Ok(UniqueNames)
    }

    fn visit_f64<E>(self, _: f64) -> Result<UniqueNames, E> {
        Ok(UniqueNames)
    }

    fn visit_str<E>(self, _: &str) -> Result<UniqueNames, E> {
        Ok(UniqueNames)
    }

    fn visit_unit<E>(self) -> Result<UniqueNames, E> {
        Ok(UniqueNames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_name_is_refused_at_any_depth() {
        assert!(parse_object(br#"{"a":1,"b":[{"a":null}],"c":{"a":-1.5,"b":true}}"#).is_some());
        for json in [
            r#"{"iss":"a","iss":"a"}"#,
            r#"{"iss":"a","\u0069ss":"b"}"#,
            r#"{"act":{"sub":"a","sub":"b"}}"#,
            r#"{"l":[0,{"x":1,"x":2}]}"#,
            r#"{"a":1} {}"#,
            r#"[]"#,
            r#""text""#,
            "",
        ] {
            assert!(parse_object(json.as_bytes()).is_none(), "{json}");
        }
    }
}
