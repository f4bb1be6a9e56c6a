//! What the values of a payload are compared with.

use std::fmt;
use std::ops::{Bound, RangeBounds};

use serde_json::Value;

use crate::error::VectorError;

/// A value in a filter. Compared without conversion: the text `1`, the number 1 and `true` are three values.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "a back end that misses a kind of value must not compile")]
pub enum FilterValue {
    /// A text, compared by bytes.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A truth value.
    Flag(bool),
}

/// Bounds, at least one of them.
#[derive(Clone, Copy, PartialEq)]
pub struct Range<T> {
    lower: Bound<T>,
    upper: Bound<T>,
}

impl<T: Copy + PartialOrd> Range<T> {
    /// The values within Rust's bounds: `Range::new(3.0..)`, `Range::new(3.0..=5.0)`. Bounds that no value is within
    /// find nothing.
    ///
    /// # Errors
    /// [`VectorError::FilterEmpty`] without a bound; [`VectorError::NotFinite`] for one that is not a number.
    pub fn new(bounds: impl RangeBounds<T>) -> Result<Self, VectorError> {
        let (lower, upper) = (bounds.start_bound().cloned(), bounds.end_bound().cloned());
        let comparable = |bound: &Bound<T>| match bound {
            Bound::Included(value) | Bound::Excluded(value) => value.partial_cmp(value).is_some(),
            Bound::Unbounded => true,
        };
        match (&lower, &upper) {
            (Bound::Unbounded, Bound::Unbounded) => Err(VectorError::FilterEmpty),
            (lower, upper) if comparable(lower) && comparable(upper) => Ok(Self { lower: *lower, upper: *upper }),
            _not_numbers => Err(VectorError::NotFinite),
        }
    }

    /// The lower end.
    #[must_use]
    pub const fn lower(&self) -> Bound<T> {
        self.lower
    }

    /// The upper end.
    #[must_use]
    pub const fn upper(&self) -> Bound<T> {
        self.upper
    }

    pub(crate) fn holds(&self, value: &T) -> bool {
        (self.lower, self.upper).contains(value)
    }
}

impl FilterValue {
    /// The value of a payload that can be compared; none for numbers with a fraction, nothing, and what has parts.
    #[must_use]
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Text(text.clone())),
            Value::Number(number) => number.as_i64().map(Self::Integer),
            Value::Bool(flag) => Some(Self::Flag(*flag)),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    pub(crate) fn equals(&self, value: &Value) -> bool {
        match self {
            Self::Text(text) => value.as_str() == Some(text),
            Self::Integer(number) => value.as_i64() == Some(*number),
            Self::Flag(flag) => value.as_bool() == Some(*flag),
        }
    }
}

impl From<&str> for FilterValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for FilterValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for FilterValue {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<bool> for FilterValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl fmt::Debug for FilterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(_) => "Text(..)",
            Self::Integer(_) => "Integer(..)",
            Self::Flag(_) => "Flag(..)",
        })
    }
}

impl<T> fmt::Debug for Range<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Range(..)")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_compared_without_conversion() {
        for (value, there) in [
            (FilterValue::from("1"), json!(1)),
            (1.into(), json!("1")),
            (1.into(), json!(1.5)),
            (true.into(), json!("true")),
            (true.into(), json!(1)),
        ] {
            assert!(!value.equals(&there), "{there}");
        }
        for value in [json!("1"), json!(1), json!(true)] {
            assert!(FilterValue::of(&value).unwrap().equals(&value));
        }
        assert!([json!(1.5), json!(null), json!([1]), json!({})].iter().all(|value| FilterValue::of(value).is_none()));
    }

    #[test]
    fn a_range_has_a_bound_and_bounds_are_numbers() {
        assert!(Range::new(1.0..2.0).unwrap().holds(&1.0) && !Range::new(1.0..2.0).unwrap().holds(&2.0));
        assert!(Range::new(..=2u64).unwrap().holds(&2));
        assert!(matches!(Range::<f64>::new(..), Err(VectorError::FilterEmpty)));
        assert!(matches!(Range::new(f64::NAN..), Err(VectorError::NotFinite)));
    }
}
