//! The caller's own conditions, beside the tenant condition and never merged with it.

use std::fmt;

use serde_json::{Map, Value};

use crate::error::VectorError;
use crate::payload::{FilterValue, PayloadKey};

/// Conditions on a payload. They narrow what the tenant sees; they can't widen it.
#[derive(Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a back end that misses a condition must not compile")]
pub enum Filter {
    /// The value, or an item of the list, is this.
    Equals(PayloadKey, FilterValue),
    /// The value, or an item of the list, is one of these. None of them: no rows, and the store is not asked.
    AnyOf(PayloadKey, Vec<FilterValue>),
    /// All of these, at least one.
    All(Vec<Filter>),
    /// Not this.
    Not(Box<Filter>),
}

impl Filter {
    /// Whether a payload meets it.
    #[must_use]
    pub fn matches(&self, payload: &Map<String, Value>) -> bool {
        match self {
            Self::Equals(key, value) => key.find(payload).is_some_and(|found| value.matches(found)),
            Self::AnyOf(key, values) => {
                key.find(payload).is_some_and(|found| values.iter().any(|value| value.matches(found)))
            }
            Self::All(filters) => filters.iter().all(|filter| filter.matches(payload)),
            Self::Not(filter) => !filter.matches(payload),
        }
    }

    /// Refuses what is too large for an engine, or empty where that would mean everything.
    pub(crate) fn ensure_sound(&self) -> Result<(), VectorError> {
        let mut room = MAX_CONDITIONS;
        self.measure(MAX_LEVELS, &mut room)
    }

    fn measure(&self, levels: usize, room: &mut usize) -> Result<(), VectorError> {
        let too_large = || VectorError::FilterTooLarge { conditions: MAX_CONDITIONS, levels: MAX_LEVELS };
        let levels = levels.checked_sub(1).ok_or_else(too_large)?;
        let weight = match self {
            Self::Equals(..) | Self::All(_) | Self::Not(_) => 1,
            Self::AnyOf(_, values) => values.len().max(1),
        };
        *room = room.checked_sub(weight).ok_or_else(too_large)?;
        match self {
            Self::Equals(..) | Self::AnyOf(..) => Ok(()),
            Self::All(filters) if filters.is_empty() => Err(VectorError::FilterEmpty),
            Self::All(filters) => filters.iter().try_for_each(|filter| filter.measure(levels, room)),
            Self::Not(filter) => filter.measure(levels, room),
        }
    }

    /// Takes out what is decided before any row is looked at, so that no engine is handed an empty list: engines
    /// differ in what they take it for, and "everything" is among the answers.
    pub(crate) fn reduce(self) -> Reduced {
        match self {
            Self::AnyOf(_, values) if values.is_empty() => Reduced::Nothing,
            Self::Equals(..) | Self::AnyOf(..) => Reduced::Some(self),
            Self::Not(filter) => match filter.reduce() {
                Reduced::Nothing => Reduced::Everything,
                Reduced::Everything => Reduced::Nothing,
                Reduced::Some(filter) => Reduced::Some(Self::Not(Box::new(filter))),
            },
            Self::All(filters) => {
                let mut rest = Vec::with_capacity(filters.len());
                for filter in filters {
                    match filter.reduce() {
                        Reduced::Nothing => return Reduced::Nothing,
                        Reduced::Everything => {}
                        Reduced::Some(filter) => rest.push(filter),
                    }
                }
                if rest.is_empty() { Reduced::Everything } else { Reduced::Some(Self::All(rest)) }
            }
        }
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equals(..) => f.write_str("Equals(..)"),
            Self::AnyOf(_, values) => write!(f, "AnyOf({} values)", values.len()),
            Self::All(filters) => f.debug_tuple("All").field(filters).finish(),
            Self::Not(filter) => f.debug_tuple("Not").field(filter).finish(),
        }
    }
}

/// A filter without lists of nothing in it.
pub(crate) enum Reduced {
    /// No row can match.
    Nothing,
    /// Every row of the tenant matches.
    Everything,
    /// It depends on the row.
    Some(Filter),
}

const MAX_CONDITIONS: usize = 4096;
const MAX_LEVELS: usize = 16;

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
            let found = match filter.clone().reduce() {
                Reduced::Nothing => "nothing",
                Reduced::Everything => "everything",
                Reduced::Some(_) => "some",
            };
            assert_eq!(found, want, "{filter:?}");
        }
    }

    #[test]
    fn a_filter_is_bounded_and_never_an_empty_conjunction() {
        assert!(matches!(Filter::All(vec![]).ensure_sound(), Err(VectorError::FilterEmpty)));
        assert!(matches!(not(Filter::All(vec![])).ensure_sound(), Err(VectorError::FilterEmpty)));
        let deep = |levels| (1..levels).fold(one(), |inner, _| not(inner));
        assert!(deep(16).ensure_sound().is_ok());
        assert!(matches!(deep(17).ensure_sound(), Err(VectorError::FilterTooLarge { .. })));
        let wide = |n: usize| Filter::AnyOf(key(), vec![1.into(); n]);
        assert!(wide(4096).ensure_sound().is_ok());
        assert!(matches!(wide(4097).ensure_sound(), Err(VectorError::FilterTooLarge { .. })));
    }

    #[test]
    fn nothing_of_a_filter_is_printed() {
        let shown = format!("{:?}", Filter::All(vec![one(), nothing(), not(one())]));
        assert_eq!(shown, "All([Equals(..), AnyOf(0 values), Not(Equals(..))])");
    }
}
