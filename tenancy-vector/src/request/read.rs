//! Reads that are no searches.

use uuid::Uuid;

use super::search::Order;
use crate::filter::Condition;
use crate::payload::PayloadKey;

/// How often each value of a key is there.
#[derive(Clone, Debug)]
pub struct FacetRequest {
    pub(crate) key: PayloadKey,
    pub(crate) condition: Option<Condition>,
    pub(crate) limit: usize,
}

impl FacetRequest {
    /// The key, which is indexed.
    #[must_use]
    pub const fn key(&self) -> &PayloadKey {
        &self.key
    }

    /// The caller's condition.
    #[must_use]
    pub const fn condition(&self) -> Option<&Condition> {
        self.condition.as_ref()
    }

    /// The most values, the most frequent first, equal ones in the order of their values.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }
}

/// How many points there are, exactly.
#[derive(Clone, Debug)]
pub struct CountRequest {
    pub(crate) condition: Option<Condition>,
}

impl CountRequest {
    /// The caller's condition.
    #[must_use]
    pub const fn condition(&self) -> Option<&Condition> {
        self.condition.as_ref()
    }
}

/// Points one after the other.
#[derive(Clone, Debug)]
pub struct ScrollRequest {
    pub(crate) condition: Option<Condition>,
    pub(crate) limit: usize,
    pub(crate) position: Position,
    pub(crate) vectors: bool,
}

/// Where a page begins.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a back end that misses an order must not compile")]
pub enum Position {
    /// In the order of engine ids, behind this one.
    After(Option<Uuid>),
    /// In the order of a value.
    Ordered(Order),
}

impl ScrollRequest {
    /// The caller's condition.
    #[must_use]
    pub const fn condition(&self) -> Option<&Condition> {
        self.condition.as_ref()
    }

    /// The most points.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// Where it begins, and in which order it goes on.
    #[must_use]
    pub const fn position(&self) -> &Position {
        &self.position
    }

    /// Whether the points carry their vectors.
    #[must_use]
    pub const fn vectors(&self) -> bool {
        self.vectors
    }
}
