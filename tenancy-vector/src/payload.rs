//! Keys and values of payloads, and which of them are ours.

use std::fmt;
use std::io;

use serde_json::{Map, Value};

use crate::error::VectorError;
use crate::reserved;

/// A key in a filter: names of `[A-Za-z0-9_-]` joined by dots, each a step into an object; with `[]` behind a name, a
/// step into each item of its list.
///
/// It can't name what this crate keeps about a point.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PayloadKey(String);

impl PayloadKey {
    /// Parses a key. It is read as a path the way engines read one, and its first step is compared: `tenancy`,
    /// `"tenancy"`, `tenancy[]` and `tenancy.life` all reach the same place, whatever they look like as texts.
    ///
    /// # Errors
    /// [`VectorError::ReservedKey`]; [`VectorError::BadKey`] for anything but dotted names of at most 256 bytes.
    pub fn parse(text: &str) -> Result<Self, VectorError> {
        if first_step(text) == Some(reserved::KEY) {
            return Err(VectorError::ReservedKey);
        }
        let plain =
            |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        let step = |step: &str| plain(step.strip_suffix("[]").unwrap_or(step));
        if text.len() > MAX_KEY_BYTES || !text.split('.').all(step) {
            return Err(VectorError::BadKey);
        }
        Ok(Self(text.to_owned()))
    }

    /// The key as text: a JSON path in which no step needs quotes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The values it names: one at most, unless it goes through a list.
    pub(crate) fn find<'a>(&self, payload: &'a Map<String, Value>) -> Vec<&'a Value> {
        let mut steps = self.0.split('.');
        let first = steps.next().map(|step| walk(payload, step)).unwrap_or_default();
        steps.fold(first, |values, step| {
            let objects = values.into_iter().filter_map(Value::as_object);
            objects.flat_map(|object| walk(object, step)).collect()
        })
    }

    /// Each value it names, and each item of a list among them.
    pub(crate) fn items<'a>(&self, payload: &'a Map<String, Value>) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.find(payload).into_iter().flat_map(|value| match value {
            Value::Array(items) => items.as_slice(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                std::slice::from_ref(value)
            }
        })
    }

    pub(crate) fn goes_through_a_list(&self) -> bool {
        self.0.contains('[')
    }

    /// The object it names, made where there is none, in the place of whatever else is there, as Qdrant does. `None` for
    /// a key that goes through a list.
    pub(crate) fn make<'a>(&self, payload: &'a mut Map<String, Value>) -> Option<&'a mut Map<String, Value>> {
        if self.goes_through_a_list() {
            return None;
        }
        self.0.split('.').try_fold(payload, |object, step| {
            let place = object.entry(step.to_owned()).or_insert(Value::Null);
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            place.as_object_mut()
        })
    }

    /// Takes out what it names, where it goes through objects only.
    pub(crate) fn remove(&self, payload: &mut Map<String, Value>) {
        let (parents, last) = self.0.rsplit_once('.').map_or((None, self.0.as_str()), |(all, last)| (Some(all), last));
        let mut steps = parents.into_iter().flat_map(|parents| parents.split('.'));
        if let Some(object) = steps.try_fold(payload, |object, step| object.get_mut(step)?.as_object_mut()) {
            object.remove(last);
        }
    }
}

fn walk<'a>(object: &'a Map<String, Value>, step: &str) -> Vec<&'a Value> {
    match step.strip_suffix("[]") {
        None => object.get(step).into_iter().collect(),
        Some(name) => object.get(name).and_then(Value::as_array).into_iter().flatten().collect(),
    }
}

impl fmt::Debug for PayloadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PayloadKey({} bytes)", self.0.len())
    }
}

/// Refuses a payload that brings a key of ours, in any spelling, or is too large.
pub(crate) fn ensure_storable(payload: &Map<String, Value>) -> Result<(), VectorError> {
    ensure_storable_at(payload, None).map(drop)
}

/// The same of what is put into the object at a key: it is as deep as both together. How many bytes it has.
pub(crate) fn ensure_storable_at(payload: &Map<String, Value>, at: Option<&PayloadKey>) -> Result<usize, VectorError> {
    let steps = at.map_or(0, |at| at.0.split('.').count());
    if payload.keys().any(|key| first_step(key) == Some(reserved::KEY)) {
        return Err(VectorError::ReservedKey);
    }
    let too_large = VectorError::PayloadTooLarge { bytes: MAX_PAYLOAD_BYTES, levels: MAX_PAYLOAD_LEVELS };
    // Depth first: measuring the size walks the value recursively. A value nested deeper than JSON readers go could be
    // written, but never read again.
    let room = MAX_PAYLOAD_LEVELS.checked_sub(steps);
    if !room.is_some_and(|levels| payload.values().all(|value| is_shallow(value, levels))) {
        return Err(too_large);
    }
    let mut room = Room(MAX_PAYLOAD_BYTES);
    serde_json::to_writer(&mut room, payload).map_err(|_| too_large)?;
    Ok(MAX_PAYLOAD_BYTES - room.0)
}

/// The first step of a key read as a JSON path, or `None` if it is not one. Engines take Unicode letters in bare names.
fn first_step(path: &str) -> Option<&str> {
    let (step, rest) = match path.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?,
        None => {
            let end = path.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).unwrap_or(path.len());
            path.split_at(end)
        }
    };
    (rest.is_empty() || rest.starts_with(['.', '['])).then_some(step)
}

fn is_shallow(value: &Value, levels: usize) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        Value::Array(items) => levels > 0 && items.iter().all(|item| is_shallow(item, levels - 1)),
        Value::Object(map) => levels > 0 && map.values().all(|item| is_shallow(item, levels - 1)),
    }
}

/// Counts bytes and keeps none.
struct Room(usize);

impl io::Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const MAX_KEY_BYTES: usize = 256;
const MAX_PAYLOAD_BYTES: usize = 256 * 1024;
/// Protocol buffers are read a hundred levels deep, of which each object takes three.
const MAX_PAYLOAD_LEVELS: usize = 31;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RESERVED_SPELLINGS: [&str; 9] = [
        "tenancy",
        "\"tenancy\"",
        "tenancy[]",
        "tenancy[0]",
        "tenancy.life",
        "\"tenancy\".life",
        "\"tenancy\"[]",
        "tenancy[].life",
        "tenancy.",
    ];

    #[test]
    fn a_reserved_key_is_recognised_in_every_spelling() {
        for spelling in RESERVED_SPELLINGS {
            assert!(matches!(PayloadKey::parse(spelling), Err(VectorError::ReservedKey)), "{spelling}");
            let payload = Map::from_iter([(spelling.to_owned(), json!(1))]);
            assert!(matches!(ensure_storable(&payload), Err(VectorError::ReservedKey)), "{spelling}");
        }
    }

    #[test]
    fn keys_that_only_resemble_it_are_the_callers() {
        for plain in ["Tenancy", "tenancy_", "tenancy-x", "a.tenancy", "xtenancy"] {
            assert!(PayloadKey::parse(plain).is_ok(), "{plain}");
            assert!(ensure_storable(&Map::from_iter([(plain.to_owned(), json!(1))])).is_ok(), "{plain}");
        }
        for bad in ["", ".", "a..b", "[]", "a[0]", "a[][]", "a b", "\"a\"", "ä", "a.", &"a".repeat(257)] {
            assert!(matches!(PayloadKey::parse(bad), Err(VectorError::BadKey)), "{bad}");
        }
    }

    #[test]
    fn a_payload_is_bounded_in_size_and_depth() {
        let of = |value| Map::from_iter([("k".to_owned(), value)]);
        assert!(ensure_storable(&of(json!("x".repeat(256 * 1024 - 10)))).is_ok());
        assert!(matches!(
            ensure_storable(&of(json!("x".repeat(256 * 1024)))),
            Err(VectorError::PayloadTooLarge { .. })
        ));
        let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        assert!(ensure_storable(&of(nested(31))).is_ok());
        assert!(matches!(ensure_storable(&of(nested(32))), Err(VectorError::PayloadTooLarge { .. })));
    }

    #[test]
    fn a_key_names_what_its_steps_lead_to() {
        let payload = json!({"a": {"b": ["x", 1]}, "l": [{"n": 1}, {"n": [2]}, 3], "n": 1});
        let payload = payload.as_object().unwrap();
        for (key, wanted) in [
            ("n", json!([1])),
            ("a.b", json!([["x", 1]])),
            ("a.b[]", json!(["x", 1])),
            ("l[].n", json!([1, [2]])),
            ("l.n", json!([])),
            ("n[]", json!([])),
            ("a.b.c", json!([])),
            ("missing", json!([])),
        ] {
            assert_eq!(json!(PayloadKey::parse(key).unwrap().find(payload)), wanted, "{key}");
        }
    }

    #[test]
    fn objects_are_made_and_values_taken_out_along_a_key() {
        let mut payload = json!({"a": {"b": 1}, "n": 1}).as_object().unwrap().clone();
        let key = |text| PayloadKey::parse(text).unwrap();
        assert!(key("n[].x").make(&mut payload).is_none(), "a list is never made");
        key("n.x").make(&mut payload).unwrap();
        key("a.c.d").make(&mut payload).unwrap().insert("e".to_owned(), json!(2));
        key("a.b").remove(&mut payload);
        key("missing.b").remove(&mut payload);
        assert_eq!(
            json!(payload),
            json!({"a": {"c": {"d": {"e": 2}}}, "n": {"x": {}}}),
            "what stood in the way is gone"
        );
    }

    #[test]
    fn a_path_and_what_is_put_there_are_as_deep_as_both() {
        let one = Map::from_iter([("v".to_owned(), Value::from(1))]);
        let path = |steps| PayloadKey::parse(&vec!["a"; steps].join(".")).unwrap();
        for (steps, fits) in [(1, true), (31, true), (32, false), (48, false), (128, false)] {
            assert_eq!(ensure_storable_at(&one, Some(&path(steps))).is_ok(), fits, "{steps} steps");
        }
    }
}
