//! Whether a point that came back meets what was asked for.

use std::time::SystemTime;

use serde_json::{Map, Value};

use super::{Condition, Place};
use crate::id::PointKey;
use crate::payload::PayloadKey;

impl Condition {
    /// Whether a stored point meets it. `None` where only the engine can tell: how it cuts texts into words, which
    /// vectors there are, on which side of a border a place lies, what it takes for a point in time.
    #[must_use]
    pub fn judge(&self, key: &PointKey, payload: &Map<String, Value>) -> Option<bool> {
        self.judge_with(key, payload, &|_| None)
    }

    /// As [`judge`](Self::judge), with an answer to what only an engine can tell.
    pub(crate) fn judge_with(
        &self,
        key: &PointKey,
        payload: &Map<String, Value>,
        engine: &dyn Fn(&Self) -> Option<bool>,
    ) -> Option<bool> {
        let inner = |filter: &Self| filter.judge_with(key, payload, engine);
        match self {
            Self::Equals(path, value) => Some(path.items(payload).any(|item| value.equals(item))),
            Self::AnyOf(path, values) => {
                Some(path.items(payload).any(|item| values.iter().any(|value| value.equals(item))))
            }
            Self::Within(path, range) => any(path.items(payload).map(|item| match item.as_f64() {
                Some(number) if number.abs() > MAX_EXACT => None,
                Some(number) => Some(range.holds(&number)),
                None => Some(false),
            })),
            Self::During(path, range) => any(path.items(payload).map(|item| match item.as_str() {
                Some(text) => instant(text).map(|time| range.holds(&time)).or_else(|| engine(self)),
                None => Some(false),
            })),
            Self::Inside(..) | Self::Words(..) | Self::HasVector(_) => engine(self),
            Self::Items(path, range) => {
                let found = path.find(payload);
                Some(found.iter().any(|value| range.holds(&count(value))) || found.is_empty() && range.holds(&0))
            }
            Self::IsEmpty(path) => Some(path.find(payload).iter().all(|value| match value {
                Value::Null => true,
                Value::Array(items) => items.is_empty(),
                Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => false,
            })),
            Self::IsNull(path) => any(path.find(payload).into_iter().map(|value| match value {
                Value::Null => Some(true),
                Value::Array(items) if items.iter().any(Value::is_null) => None,
                Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                    Some(false)
                }
            })),
            Self::HasId(keys) => Some(keys.contains(key)),
            Self::Nested(path, filter) => {
                let objects = path.items(payload).filter_map(Value::as_object);
                any(objects.map(|object| filter.judge_with(key, object, engine)))
            }
            Self::All(filters) => not(any(filters.iter().map(|filter| not(inner(filter))))),
            Self::Any(filters) => any(filters.iter().map(inner)),
            Self::AtLeast(least, filters) => {
                let judged: Vec<_> = filters.iter().map(inner).collect();
                let sure = judged.iter().filter(|judged| **judged == Some(true)).count();
                let possible = judged.iter().filter(|judged| **judged != Some(false)).count();
                match (sure >= *least, possible >= *least) {
                    (true, _) => Some(true),
                    (false, true) => None,
                    (false, false) => Some(false),
                }
            }
            Self::Not(filter) => not(inner(filter)),
        }
    }
}

fn count(value: &Value) -> u64 {
    match value {
        Value::Null => 0,
        Value::Array(items) => items.len() as u64,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => 1,
    }
}

/// Whether one of them holds: no when none does for sure.
fn any(judged: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut unsure = false;
    for one in judged {
        match one {
            Some(true) => return Some(true),
            Some(false) => {}
            None => unsure = true,
        }
    }
    if unsure { None } else { Some(false) }
}

fn not(judged: Option<bool>) -> Option<bool> {
    judged.map(|holds| !holds)
}

/// A point in time, in the one spelling that all engines read alike: of Greenwich, to the microsecond at most.
fn instant(text: &str) -> Option<SystemTime> {
    const LONGEST: usize = "2026-11-29T12:00:00.000000Z".len();
    humantime::parse_rfc3339(text).ok().filter(|_| text.len() <= LONGEST)
}

/// Beyond it, not every whole number has a floating-point number of its own.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

impl Place {
    /// Whether one of the places that a key names is in an area.
    pub(crate) fn any_of(path: &PayloadKey, payload: &Map<String, Value>, wanted: impl Fn(Self) -> bool) -> bool {
        path.items(payload).filter_map(Self::of).any(wanted)
    }
}
