//! Points as a caller hands them in and gets them back.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};
use tenancy_core::CorpusName;

use crate::error::VectorError;
use crate::id::ExternalId;
use crate::name::VectorName;
use crate::payload::ensure_storable;
use crate::vector::{DenseVector, Input, SparseVector, Vector};

/// A point to store. What could be wrong with it on its own was looked at when it was made.
#[derive(Clone)]
pub struct Point {
    pub(crate) id: ExternalId,
    pub(crate) vectors: BTreeMap<VectorName, Input>,
    pub(crate) payload: Map<String, Value>,
}

impl Point {
    /// A point without vectors yet.
    ///
    /// # Errors
    /// [`VectorError::ReservedKey`] for a payload with the key `tenancy` in any spelling;
    /// [`VectorError::PayloadTooLarge`] beyond 256 KiB of JSON or 31 levels.
    pub fn new(id: ExternalId, payload: Map<String, Value>) -> Result<Self, VectorError> {
        ensure_storable(&payload)?;
        Ok(Self { id, vectors: BTreeMap::new(), payload })
    }

    /// A point of [`Schema::hybrid`](crate::Schema::hybrid): with a dense vector and the terms of its text
    /// ([`SparseVector::empty`] for none).
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`VectorError::VectorEmpty`], [`VectorError::NotFinite`].
    pub fn hybrid(
        id: ExternalId,
        dense: Vec<f32>,
        sparse: SparseVector,
        payload: Map<String, Value>,
    ) -> Result<Self, VectorError> {
        let point = Self::new(id, payload)?.with(VectorName::dense(), DenseVector::new(dense)?);
        Ok(if sparse.is_empty() { point } else { point.with(VectorName::sparse(), sparse) })
    }

    /// With a vector, or a text where the schema has texts under that name. The last one of a name counts. A point may
    /// lack vectors of the schema; searches by those do not find it.
    #[must_use]
    pub fn with(mut self, name: VectorName, input: impl Into<Input>) -> Self {
        self.vectors.insert(name, input.into());
        self
    }

    /// Its external id.
    #[must_use]
    pub const fn id(&self) -> &ExternalId {
        &self.id
    }
}

impl fmt::Debug for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Point").field("vectors", &self.vectors).finish_non_exhaustive()
    }
}

/// A stored point, checked to be one of those that were meant.
#[derive(Clone, PartialEq)]
pub struct FoundPoint {
    pub(crate) id: ExternalId,
    pub(crate) payload: Map<String, Value>,
    pub(crate) vectors: BTreeMap<VectorName, Vector>,
    pub(crate) origin: Origin,
}

/// Where a point that was found comes from.
///
/// The same external id of a tenant's own point and of one of a shared corpus are two points.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "whoever shows a point decides how it shows each")]
pub enum Origin {
    /// The tenant's own points.
    Own,
    /// A corpus that all tenants of the realm may read.
    Shared(CorpusName),
}

impl FoundPoint {
    /// Where it comes from.
    #[must_use]
    pub const fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Its external id.
    #[must_use]
    pub const fn id(&self) -> &ExternalId {
        &self.id
    }

    /// The caller's payload.
    #[must_use]
    pub const fn payload(&self) -> &Map<String, Value> {
        &self.payload
    }

    /// The vectors by name, where they were asked for, as the engine keeps them: for cosine similarity normalised, for
    /// a text its words' weights.
    #[must_use]
    pub const fn vectors(&self) -> &BTreeMap<VectorName, Vector> {
        &self.vectors
    }

    /// The id and the payload.
    #[must_use]
    pub fn into_parts(self) -> (ExternalId, Map<String, Value>) {
        (self.id, self.payload)
    }
}

impl fmt::Debug for FoundPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FoundPoint").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What came of asking for one id.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "there is no third answer, and there must be none")]
pub enum Found {
    /// The point.
    Point(FoundPoint),
    /// Not among the points that were meant: another's, or nobody's. Nobody looked to tell which.
    NotVisible,
}

impl Found {
    /// The point, if it is there.
    #[must_use]
    pub const fn point(&self) -> Option<&FoundPoint> {
        match self {
            Self::Point(point) => Some(point),
            Self::NotVisible => None,
        }
    }
}

/// A point that a query found, checked to be one of those that were meant.
#[derive(Clone, PartialEq)]
pub struct Hit {
    pub(crate) point: FoundPoint,
    pub(crate) score: f32,
}

impl Hit {
    /// Where its point comes from.
    #[must_use]
    pub const fn origin(&self) -> &Origin {
        &self.point.origin
    }

    /// The point.
    #[must_use]
    pub const fn point(&self) -> &FoundPoint {
        &self.point
    }

    /// Its external id.
    #[must_use]
    pub const fn id(&self) -> &ExternalId {
        &self.point.id
    }

    /// The caller's payload.
    #[must_use]
    pub const fn payload(&self) -> &Map<String, Value> {
        &self.point.payload
    }

    /// How well it fits; higher is better. Cosine similarity or the scalar product for a dense query, the weighted sum
    /// of the common terms for a sparse one, the sum of reciprocal ranks for a fused one. Not comparable between kinds
    /// of queries, and of no meaning for an order or a sample.
    #[must_use]
    pub const fn score(&self) -> f32 {
        self.score
    }

    /// The point alone.
    #[must_use]
    pub fn into_point(self) -> FoundPoint {
        self.point
    }
}

impl fmt::Debug for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hit").field("id", &self.point.id).field("score", &self.score).finish_non_exhaustive()
    }
}

/// What came of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "it says whether every id was there"]
pub struct Deleted {
    pub(crate) removed: u64,
    pub(crate) not_visible: u64,
}

impl Deleted {
    /// How many points are gone that were there.
    #[must_use]
    pub const fn removed(&self) -> u64 {
        self.removed
    }

    /// How many ids were not among the tenant's points, each on record as `scope.not_visible`.
    #[must_use]
    pub const fn not_visible(&self) -> u64 {
        self.not_visible
    }
}
