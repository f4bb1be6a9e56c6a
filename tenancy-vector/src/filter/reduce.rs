//! What is decided before any row is looked at, and the tenant's own keys for ids.

use super::{Condition, Filter};
use crate::id::{ExternalId, PointKey};

/// A filter without lists of nothing in it.
pub(crate) enum Reduced {
    /// No row can match.
    Nothing,
    /// Every row of the tenant matches.
    Everything,
    /// It depends on the row.
    Some(Condition),
}

impl Reduced {
    const fn of(decided: bool) -> Self {
        if decided { Self::Everything } else { Self::Nothing }
    }

    fn not(self) -> Self {
        match self {
            Self::Nothing => Self::Everything,
            Self::Everything => Self::Nothing,
            Self::Some(filter) => Self::Some(Filter::Not(Box::new(filter))),
        }
    }
}

impl Filter {
    /// Takes out what is decided, so that no engine is handed an empty list: engines differ in what they take it for,
    /// and "everything" is among the answers. Ids become the keys that only this tenant's ids have.
    pub(crate) fn reduce<E>(self, key: &impl Fn(&ExternalId) -> Result<PointKey, E>) -> Result<Reduced, E> {
        Ok(Reduced::Some(match self {
            Self::AnyOf(_, values) if values.is_empty() => return Ok(Reduced::Nothing),
            Self::HasId(ids) if ids.is_empty() => return Ok(Reduced::Nothing),
            Self::HasId(ids) => Filter::HasId(ids.iter().map(key).collect::<Result<_, _>>()?),
            Self::All(filters) => return all(filters, key),
            Self::Any(filters) => return at_least(1, filters, key),
            Self::AtLeast(least, filters) => return at_least(least, filters, key),
            Self::Not(filter) => return Ok(filter.reduce(key)?.not()),
            Self::Nested(path, filter) => match filter.reduce(key)? {
                Reduced::Nothing => return Ok(Reduced::Nothing),
                // Some object has to be there for everything to hold of it.
                Reduced::Everything => Filter::Not(Box::new(Filter::IsEmpty(path))),
                Reduced::Some(filter) => Filter::Nested(path, Box::new(filter)),
            },
            Self::Equals(path, value) => Filter::Equals(path, value),
            Self::AnyOf(path, values) => Filter::AnyOf(path, values),
            Self::Within(path, range) => Filter::Within(path, range),
            Self::During(path, range) => Filter::During(path, range),
            Self::Words(path, words) => Filter::Words(path, words),
            Self::Inside(path, area) => {
                let mut parts: Vec<_> =
                    area.parts().into_iter().map(|part| Filter::Inside(path.clone(), part)).collect();
                if parts.len() == 1 { parts.remove(0) } else { Filter::Any(parts) }
            }
            // Engines differ in whether a key that is not there has no items or no number of them.
            Self::Items(path, range) if range.holds(&0) => {
                Filter::Any(vec![Filter::IsEmpty(path.clone()), Filter::Items(path, range)])
            }
            Self::Items(path, range) => {
                Filter::All(vec![Filter::Not(Box::new(Filter::IsEmpty(path.clone()))), Filter::Items(path, range)])
            }
            Self::IsEmpty(path) => Filter::IsEmpty(path),
            Self::IsNull(path) => Filter::IsNull(path),
            Self::HasVector(name) => Filter::HasVector(name),
        }))
    }
}

fn all<E>(filters: Vec<Filter>, key: &impl Fn(&ExternalId) -> Result<PointKey, E>) -> Result<Reduced, E> {
    let mut rest = Vec::with_capacity(filters.len());
    for filter in filters {
        match filter.reduce(key)? {
            Reduced::Nothing => return Ok(Reduced::Nothing),
            Reduced::Everything => {}
            Reduced::Some(filter) => rest.push(filter),
        }
    }
    Ok(if rest.is_empty() { Reduced::Everything } else { Reduced::Some(Filter::All(rest)) })
}

fn at_least<E>(
    least: usize,
    filters: Vec<Filter>,
    key: &impl Fn(&ExternalId) -> Result<PointKey, E>,
) -> Result<Reduced, E> {
    let (mut rest, mut held) = (Vec::with_capacity(filters.len()), 0);
    for filter in filters {
        match filter.reduce(key)? {
            Reduced::Nothing => {}
            Reduced::Everything => held += 1,
            Reduced::Some(filter) => rest.push(filter),
        }
    }
    let Some(least @ 1..) = least.checked_sub(held) else { return Ok(Reduced::Everything) };
    if least > rest.len() {
        return Ok(Reduced::of(false));
    }
    Ok(Reduced::Some(match least {
        1 => Filter::Any(rest),
        least if least == rest.len() => Filter::All(rest),
        least => Filter::AtLeast(least, rest),
    }))
}
