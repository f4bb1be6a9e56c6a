//! The caller's own conditions, beside the tenant condition and never merged with it.

mod bounds;
mod geo;
mod judge;
mod reduce;
mod value;

use std::fmt;
use std::time::SystemTime;

pub use geo::{Area, Place};
pub use value::{FilterValue, Range};

pub(crate) use bounds::{ID, take};
pub(crate) use reduce::Reduced;

use crate::error::VectorError;
use crate::id::{ExternalId, PointKey};
use crate::name::VectorName;
use crate::payload::PayloadKey;
use crate::schema::{IndexKind, Schema};

/// Conditions on a point. They narrow what the tenant sees; they can't widen it.
///
/// A key that names several values, through a list, meets a condition when one of them does. A key that is not there
/// meets [`IsEmpty`](Self::IsEmpty) and the opposite of everything else.
#[derive(Clone, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a back end that misses a condition must not compile")]
pub enum Filter<Id = ExternalId> {
    /// The value, or an item of the list, is this.
    Equals(PayloadKey, FilterValue),
    /// The value, or an item of the list, is one of these. None of them: no rows, and the store is not asked.
    AnyOf(PayloadKey, Vec<FilterValue>),
    /// A number, or one in the list, within these bounds.
    Within(PayloadKey, Range<f64>),
    /// A point in time (a text, RFC 3339), or one in the list, within these bounds.
    During(PayloadKey, Range<SystemTime>),
    /// A text with these words. The key has to be indexed as [`IndexKind::Words`](crate::IndexKind::Words).
    Words(PayloadKey, Words),
    /// A place in this area.
    Inside(PayloadKey, Area),
    /// How many items the list has. One value counts as a list of one, `null` and no value as none.
    Items(PayloadKey, Range<u64>),
    /// No value: the key is not there, or it is `null`, or an empty list.
    IsEmpty(PayloadKey),
    /// The value is there and `null`. About a list with a `null` in it engines differ.
    IsNull(PayloadKey),
    /// One of the tenant's points with these ids. None of them: no rows, and the store is not asked.
    HasId(Vec<Id>),
    /// The point has a vector of this name.
    HasVector(VectorName),
    /// One object in the list meets all of this at once. Its keys start at the object.
    Nested(PayloadKey, Box<Filter<Id>>),
    /// All of these, at least one.
    All(Vec<Filter<Id>>),
    /// One of these or more. None of them: no rows, and the store is not asked.
    Any(Vec<Filter<Id>>),
    /// So many of these or more.
    AtLeast(usize, Vec<Filter<Id>>),
    /// Not this.
    Not(Box<Filter<Id>>),
}

/// What a back end is asked: a filter with the tenant's own keys for ids, in which there is no list of nothing and
/// nothing that is decided already.
pub type Condition = Filter<PointKey>;

/// Words to look for. How a text is cut into words is the engine's.
#[derive(Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a back end that misses one must not compile")]
pub enum Words {
    /// All of them, anywhere.
    All(String),
    /// One of them.
    Any(String),
    /// All of them, one after the other.
    Phrase(String),
}

impl Words {
    /// The text with the words.
    #[must_use]
    pub fn text(&self) -> &str {
        let (Self::All(text) | Self::Any(text) | Self::Phrase(text)) = self;
        text
    }
}

impl Filter {
    /// The opposite.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "`!filter` reads worse than `filter.not()`")]
    pub fn not(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// Refuses a condition on a key whose index takes its values for something else: engines then answer by the index,
    /// and differently from those without one.
    pub(crate) fn ensure_indexed(&self, schema: &Schema) -> Result<(), VectorError> {
        use IndexKind::{Datetime, Flag, Float, Geo, Integer, Keyword, Words};
        let fits = |key: &PayloadKey, kinds: &[IndexKind]| match schema.index_of(key) {
            Some(kind) if !kinds.contains(&kind) => Err(VectorError::WrongIndex(key.clone())),
            Some(_) | None => Ok(()),
        };
        let value = |key, value: &FilterValue| match value {
            FilterValue::Text(_) => fits(key, &[Keyword]),
            FilterValue::Integer(_) => fits(key, &[Integer]),
            FilterValue::Flag(_) => fits(key, &[Flag]),
        };
        match self {
            Self::Equals(key, one) => value(key, one),
            Self::AnyOf(key, values) => values.iter().try_for_each(|one| value(key, one)),
            Self::Within(key, _) => fits(key, &[Integer, Float]),
            Self::During(key, _) => fits(key, &[Datetime]),
            Self::Inside(key, _) => fits(key, &[Geo]),
            Self::Words(key, _) if schema.index_of(key) == Some(Words) => Ok(()),
            Self::Words(key, _) => Err(VectorError::NotIndexed(key.clone())),
            Self::HasVector(name) if schema.vector(name).is_none() => Err(VectorError::UnknownVector(name.clone())),
            Self::HasVector(_) | Self::HasId(_) | Self::Items(..) | Self::IsEmpty(_) | Self::IsNull(_) => Ok(()),
            // Keys in it start at an object of the list, so none of them is a key of the schema.
            Self::Nested(..) => Ok(()),
            Self::Not(filter) => filter.ensure_indexed(schema),
            Self::All(filters) | Self::Any(filters) | Self::AtLeast(_, filters) => {
                filters.iter().try_for_each(|filter| filter.ensure_indexed(schema))
            }
        }
    }
}

impl<Id> Filter<Id> {
    /// Whether a condition on the point itself is in it, which no payload can meet.
    pub(crate) fn names_points(&self) -> bool {
        match self {
            Self::HasId(_) | Self::HasVector(_) => true,
            Self::All(filters) | Self::Any(filters) | Self::AtLeast(_, filters) => {
                filters.iter().any(Self::names_points)
            }
            Self::Nested(_, filter) | Self::Not(filter) => filter.names_points(),
            Self::Equals(..)
            | Self::AnyOf(..)
            | Self::Within(..)
            | Self::During(..)
            | Self::Words(..)
            | Self::Inside(..)
            | Self::Items(..)
            | Self::IsEmpty(_)
            | Self::IsNull(_) => false,
        }
    }
}

impl<Id> fmt::Debug for Filter<Id> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equals(..) => f.write_str("Equals(..)"),
            Self::AnyOf(_, values) => write!(f, "AnyOf({} values)", values.len()),
            Self::Within(..) => f.write_str("Within(..)"),
            Self::During(..) => f.write_str("During(..)"),
            Self::Words(..) => f.write_str("Words(..)"),
            Self::Inside(..) => f.write_str("Inside(..)"),
            Self::Items(..) => f.write_str("Items(..)"),
            Self::IsEmpty(_) => f.write_str("IsEmpty(..)"),
            Self::IsNull(_) => f.write_str("IsNull(..)"),
            Self::HasId(ids) => write!(f, "HasId({} ids)", ids.len()),
            Self::HasVector(name) => f.debug_tuple("HasVector").field(name).finish(),
            Self::Nested(_, filter) => f.debug_tuple("Nested").field(filter).finish(),
            Self::All(filters) => f.debug_tuple("All").field(filters).finish(),
            Self::Any(filters) => f.debug_tuple("Any").field(filters).finish(),
            Self::AtLeast(least, filters) => f.debug_tuple("AtLeast").field(least).field(filters).finish(),
            Self::Not(filter) => f.debug_tuple("Not").field(filter).finish(),
        }
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Words({} bytes)", self.text().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> PayloadKey {
        PayloadKey::parse("doc").unwrap()
    }

    fn nothing() -> Filter {
        Filter::AnyOf(key(), vec![])
    }

    fn one() -> Filter {
        Filter::Equals(key(), "a".into())
    }

    fn not(filter: Filter) -> Filter {
        Filter::Not(Box::new(filter))
    }

    #[test]
    fn an_empty_list_is_decided_before_the_store_is_asked() {
        for (filter, want) in [
            (nothing(), "nothing"),
            (Filter::All(vec![one(), nothing()]), "nothing"),
            (Filter::All(vec![Filter::All(vec![nothing()]), one()]), "nothing"),
            (not(not(nothing())), "nothing"),
            (not(nothing()), "everything"),
            (Filter::All(vec![not(nothing())]), "everything"),
            (Filter::All(vec![not(nothing()), one()]), "some"),
            (not(one()), "some"),
        ] {
            let found = match filter.clone().reduce::<()>(&|_| Err(())).unwrap() {
                Reduced::Nothing => "nothing",
                Reduced::Everything => "everything",
                Reduced::Some(_) => "some",
            };
            assert_eq!(found, want, "{filter:?}");
        }
    }

    #[test]
    fn nothing_of_a_filter_is_printed() {
        let shown = format!("{:?}", Filter::All(vec![one(), nothing(), not(one())]));
        assert_eq!(shown, "All([Equals(..), AnyOf(0 values), Not(Equals(..))])");
    }
}
