//! How large a filter is: looked at before anything else walks it, or sends it.

use super::Filter;
use crate::error::VectorError;
use crate::filter::FilterValue;
use crate::payload::PayloadKey;

impl Filter {
    /// The most conditions of a filter; each item of a list is one, and so is each corner of an area.
    pub const MAX_CONDITIONS: usize = 4096;

    /// How deep conditions may stand in conditions.
    pub const MAX_LEVELS: usize = 16;

    /// The most bytes of a filter: the texts and keys in it, 32 for each condition, 16 for each item of a list, and 128 for
    /// each id, however long it is: what is sent of it is a hash.
    pub const MAX_BYTES: usize = 1024 * 1024;

    /// Refuses what is too large for an engine, or empty where that would mean everything. How many bytes it has.
    pub(crate) fn ensure_sound(&self) -> Result<usize, VectorError> {
        let mut room = Room { conditions: Self::MAX_CONDITIONS, bytes: Self::MAX_BYTES };
        self.measure(Self::MAX_LEVELS, &mut room)?;
        Ok(Self::MAX_BYTES - room.bytes)
    }

    fn measure(&self, levels: usize, room: &mut Room) -> Result<(), VectorError> {
        let levels = levels.checked_sub(1).ok_or_else(too_large)?;
        let conditions = match self {
            Self::AnyOf(_, values) => values.len().max(1),
            Self::HasId(ids) => ids.len().max(1),
            Self::Words(_, words) => 1 + words.text().len() / BYTES_OF_A_WORD,
            Self::Inside(_, area) => area.corners().max(1),
            _one => 1,
        };
        room.conditions = room.conditions.checked_sub(conditions).ok_or_else(too_large)?;
        take(&mut room.bytes, CONDITION + self.bytes(), Self::MAX_BYTES)?;
        match self {
            Self::Equals(..)
            | Self::AnyOf(..)
            | Self::Within(..)
            | Self::During(..)
            | Self::Items(..)
            | Self::IsEmpty(_)
            | Self::IsNull(_)
            | Self::HasId(_)
            | Self::HasVector(_) => Ok(()),
            Self::Inside(_, area) => area.ensure_sound(),
            Self::Words(_, words) if words.text().trim().is_empty() => Err(VectorError::FilterEmpty),
            Self::Words(..) => Ok(()),
            Self::All(filters) if filters.is_empty() => Err(VectorError::FilterEmpty),
            Self::AtLeast(0, _) => Err(VectorError::FilterEmpty),
            Self::All(filters) | Self::Any(filters) | Self::AtLeast(_, filters) => {
                filters.iter().try_for_each(|filter| filter.measure(levels, room))
            }
            Self::Not(filter) => filter.measure(levels, room),
            Self::Nested(_, filter) => {
                filter.measure(levels, room)?;
                if filter.names_points() { Err(VectorError::FilterNested) } else { Ok(()) }
            }
        }
    }

    /// The bytes of this condition, without those of the conditions in it.
    fn bytes(&self) -> usize {
        let key = |key: &PayloadKey| key.as_str().len();
        let value = |value: &FilterValue| match value {
            FilterValue::Text(text) => ITEM + text.len(),
            FilterValue::Integer(_) | FilterValue::Flag(_) => ITEM,
        };
        match self {
            Self::Equals(path, one) => key(path) + value(one),
            Self::AnyOf(path, values) => key(path) + values.iter().map(value).sum::<usize>(),
            Self::Words(path, words) => key(path) + words.text().len(),
            Self::Inside(path, area) => key(path) + ITEM * area.corners(),
            Self::HasId(ids) => ID * ids.len(),
            Self::Within(path, _)
            | Self::During(path, _)
            | Self::Items(path, _)
            | Self::IsEmpty(path)
            | Self::IsNull(path)
            | Self::Nested(path, _) => key(path),
            Self::HasVector(_) | Self::All(_) | Self::Any(_) | Self::AtLeast(..) | Self::Not(_) => 0,
        }
    }
}

/// What is left for the rest of a filter.
struct Room {
    conditions: usize,
    bytes: usize,
}

const fn too_large() -> VectorError {
    VectorError::FilterTooLarge { conditions: Filter::MAX_CONDITIONS, levels: Filter::MAX_LEVELS }
}

/// Takes bytes from what is left of the most that there may be.
pub(crate) fn take(room: &mut usize, bytes: usize, most: usize) -> Result<(), VectorError> {
    *room = room.checked_sub(bytes).ok_or(VectorError::TooHeavy { most })?;
    Ok(())
}

const CONDITION: usize = 32;
const ITEM: usize = 16;
/// On the wire it is a uuid and a digest, as texts.
pub(crate) const ID: usize = 128;
const BYTES_OF_A_WORD: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> PayloadKey {
        PayloadKey::parse("doc").unwrap()
    }

    fn one() -> Filter {
        Filter::Equals(key(), "a".into())
    }

    fn not(filter: Filter) -> Filter {
        Filter::Not(Box::new(filter))
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
}
