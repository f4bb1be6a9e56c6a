//! The model's arguments, read strictly.
//!
//! Parsers disagree on which of two equal names counts, and a name that reads as a scope is an attack whether or not
//! the rest is well formed. So one pass looks at every name at every depth before anything is decided; numbers and
//! texts are then read by `serde_json` itself.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::lint::{Severity, fold, judge};

/// Why arguments are not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidArguments {
    /// Too many bytes.
    #[error("the arguments are larger than {limit} bytes")]
    TooLarge {
        /// The most there may be, in bytes.
        limit: usize,
    },
    /// Not one JSON object.
    #[error("the arguments are not one JSON object")]
    NotAnObject,
    /// A name occurs twice in one object.
    #[error("the arguments repeat a name")]
    RepeatedName,
    /// They do not match the tool's schema.
    #[error("the arguments do not match the schema at {pointer}")]
    Schema {
        /// The rule of the schema that they break, as a JSON pointer into it.
        pointer: String,
    },
    /// They match the schema and the tool still can't read them.
    #[error("the tool can't read the arguments")]
    Unreadable,
}

/// What came of reading.
pub(crate) enum Refusal {
    /// A name reads as a scope.
    Scope,
    Invalid(InvalidArguments),
}

/// Reads one object.
pub(crate) fn read(json: &str, allowed: &HashSet<String>, limit: usize) -> Result<Map<String, Value>, Refusal> {
    if json.len() > limit {
        return Err(Refusal::Invalid(InvalidArguments::TooLarge { limit }));
    }
    let mut names = Names { allowed, scope: false, repeated: false };
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let whole = Walk(&mut names).deserialize(&mut deserializer).and_then(|()| deserializer.end());
    if names.scope {
        return Err(Refusal::Scope);
    }
    if names.repeated {
        return Err(Refusal::Invalid(InvalidArguments::RepeatedName));
    }
    whole.and_then(|()| serde_json::from_str(json)).map_err(|_| Refusal::Invalid(InvalidArguments::NotAnObject))
}

struct Names<'a> {
    allowed: &'a HashSet<String>,
    scope: bool,
    repeated: bool,
}

impl Names<'_> {
    fn see(&mut self, name: &str) {
        self.scope |= match judge(name).map(|judged| judged.severity) {
            None => false,
            Some(Severity::Deny) => true,
            Some(Severity::Ambiguous) => !self.allowed.contains(&fold(name)),
        };
    }
}

struct Walk<'w, 'n>(&'w mut Names<'n>);

impl<'de> DeserializeSeed<'de> for Walk<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            self.0.see(&name);
            self.0.repeated |= !seen.insert(name);
            map.next_value_seed(Walk(self.0))?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Walk(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(json: &str) -> &'static str {
        match read(json, &HashSet::from(["account".to_owned()]), 10_000) {
            Ok(_) => "taken",
            Err(Refusal::Scope) => "scope",
            Err(Refusal::Invalid(InvalidArguments::RepeatedName)) => "repeated",
            Err(Refusal::Invalid(_)) => "invalid",
        }
    }

    #[test]
    fn names_are_judged_at_every_depth() {
        for (json, expected) in [
            (r#"{"a":1,"b":[{"a":null}],"c":{"a":-1.5,"b":true}}"#, "taken"),
            (r#"{"a":1,"a":1}"#, "repeated"),
            (r#"{"a":1,"\u0061":2}"#, "repeated"),
            (r#"{"l":[0,{"x":1,"x":2}]}"#, "repeated"),
            (r#"{"tenant_id":"globex"}"#, "scope"),
            (r#"{"a":{"b":[{"TenantId":1}]}}"#, "scope"),
            (r#"{"tenant_id":1,"tenant_id":2}"#, "scope"),
            (r#"{"t\u0435nant":1"#, "scope"),
            (r#"{"customer":1}"#, "scope"),
            (r#"{"account":1}"#, "taken"),
            (r#"{"text":"{\"tenant_id\":1}"}"#, "taken"),
            ("[]", "invalid"),
            ("", "invalid"),
            ("{} {}", "invalid"),
            (r#"{"a":1e999}"#, "invalid"),
        ] {
            assert_eq!(outcome(json), expected, "{json}");
        }
        assert_eq!(outcome(&"[".repeat(9_000)), "invalid");
        assert_eq!(outcome(&format!("{{\"a\":\"{}\"}}", "x".repeat(10_000))), "invalid");
    }
}
