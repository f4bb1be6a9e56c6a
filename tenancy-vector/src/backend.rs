//! What an engine must be able to do.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tenancy_core::StoreVerdict;

use crate::error::BackendError;
use crate::filter::Filter;
use crate::id::PointKey;
use crate::schema::Schema;
use crate::scope::VectorScope;
use crate::vector::SparseVector;

/// An engine that keeps points, one partition a life. Implemented by users; called by this crate only, since nobody
/// else can make a [`VectorScope`].
///
/// Whatever comes back is checked again, so an engine that ignores a condition fails loudly. It must not rely on that:
/// every request carries the life as a condition that has to hold, see [`reserved`](crate::reserved). Show it with
/// [`conformance::run`](crate::conformance::run).
///
/// Writes run in a task of their own and are not dropped half-way unless the runtime stops. Reads may be dropped at any
/// await.
#[async_trait]
pub trait VectorBackend: Send + Sync + 'static {
    /// Writes points, replacing those with the same key. Makes the partition when it is not there. When it returns they
    /// are durable, as far as the back end says, and found by whatever starts later. A failure may leave any part.
    ///
    /// # Errors
    /// [`BackendError::Collision`], with nothing written, when an engine id is taken by a point with another digest;
    /// [`BackendError::SchemaMismatch`] when the partition was made for another schema; [`BackendError::Dropped`]
    /// after [`drop_partition`](Self::drop_partition).
    async fn upsert(&self, scope: VectorScope<'_>, request: UpsertRequest) -> Result<(), BackendError>;

    /// The best points in falling order of score, ranked as [`rank`](crate::rank) does. None where there is no
    /// partition.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn query(&self, scope: VectorScope<'_>, request: QueryRequest) -> Result<Vec<ScoredPayload>, BackendError>;

    /// Those of the points that are there, in any order.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn retrieve(
        &self,
        scope: VectorScope<'_>,
        keys: Vec<PointKey>,
    ) -> Result<Vec<Map<String, Value>>, BackendError>;

    /// Deletes points and says how many of them were there. Durable when it returns.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn delete(&self, scope: VectorScope<'_>, keys: Vec<PointKey>) -> Result<u64, BackendError>;

    /// How many points there are, exactly.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn count(&self, scope: VectorScope<'_>) -> Result<u64, BackendError>;

    /// Deletes the partition for good. Waits for what is under way in it; a write that comes later is refused with
    /// [`BackendError::Dropped`]. Idempotent.
    ///
    /// # Errors
    /// [`BackendError`]; called again, it goes on where it stopped.
    async fn drop_partition(&self, scope: VectorScope<'_>) -> Result<(), BackendError>;

    /// Looks for what is left of a dropped partition, and says honestly what it found out.
    ///
    /// # Errors
    /// [`BackendError`] when it can't look.
    async fn verify_dropped(&self, scope: VectorScope<'_>) -> Result<StoreVerdict, BackendError>;
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<B: VectorBackend + ?Sized> VectorBackend for Arc<B> {
    async fn upsert(&self, scope: VectorScope<'_>, request: UpsertRequest) -> Result<(), BackendError> {
        (**self).upsert(scope, request).await
    }

    async fn query(&self, scope: VectorScope<'_>, request: QueryRequest) -> Result<Vec<ScoredPayload>, BackendError> {
        (**self).query(scope, request).await
    }

    async fn retrieve(
        &self,
        scope: VectorScope<'_>,
        keys: Vec<PointKey>,
    ) -> Result<Vec<Map<String, Value>>, BackendError> {
        (**self).retrieve(scope, keys).await
    }

    async fn delete(&self, scope: VectorScope<'_>, keys: Vec<PointKey>) -> Result<u64, BackendError> {
        (**self).delete(scope, keys).await
    }

    async fn count(&self, scope: VectorScope<'_>) -> Result<u64, BackendError> {
        (**self).count(scope).await
    }

    async fn drop_partition(&self, scope: VectorScope<'_>) -> Result<(), BackendError> {
        (**self).drop_partition(scope).await
    }

    async fn verify_dropped(&self, scope: VectorScope<'_>) -> Result<StoreVerdict, BackendError> {
        (**self).verify_dropped(scope).await
    }
}

/// Points to write, already tagged. Their keys are distinct and their vectors fit the schema.
#[derive(Clone)]
pub struct UpsertRequest {
    schema: Schema,
    points: Vec<TaggedPoint>,
}

impl UpsertRequest {
    pub(crate) const fn new(schema: Schema, points: Vec<TaggedPoint>) -> Self {
        Self { schema, points }
    }

    /// The schema of the store.
    #[must_use]
    pub const fn schema(&self) -> Schema {
        self.schema
    }

    /// The points.
    #[must_use]
    pub fn points(&self) -> &[TaggedPoint] {
        &self.points
    }

    /// The points.
    #[must_use]
    pub fn into_points(self) -> Vec<TaggedPoint> {
        self.points
    }
}

impl fmt::Debug for UpsertRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UpsertRequest({} points)", self.points.len())
    }
}

/// A point as it is to be stored.
#[derive(Clone)]
pub struct TaggedPoint {
    pub(crate) key: PointKey,
    pub(crate) dense: Vec<f32>,
    pub(crate) sparse: SparseVector,
    pub(crate) payload: Map<String, Value>,
}

impl TaggedPoint {
    /// The key.
    #[must_use]
    pub const fn key(&self) -> &PointKey {
        &self.key
    }

    /// The dense vector, as it came: the engine normalises for cosine similarity.
    #[must_use]
    pub fn dense(&self) -> &[f32] {
        &self.dense
    }

    /// The sparse vector; empty for a text without terms.
    #[must_use]
    pub const fn sparse(&self) -> &SparseVector {
        &self.sparse
    }

    /// The payload with the tag.
    #[must_use]
    pub const fn payload(&self) -> &Map<String, Value> {
        &self.payload
    }

    /// The key, the vectors and the payload.
    #[must_use]
    pub fn into_parts(self) -> (PointKey, Vec<f32>, SparseVector, Map<String, Value>) {
        (self.key, self.dense, self.sparse, self.payload)
    }
}

impl fmt::Debug for TaggedPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaggedPoint(..)")
    }
}

/// A query to lower. One scope feeds all its arms.
#[derive(Clone, Debug)]
pub struct QueryRequest {
    pub(crate) arms: Vec<Arm>,
    pub(crate) limit: usize,
    pub(crate) filter: Option<Filter>,
}

impl QueryRequest {
    /// One arm, or two to be fused.
    #[must_use]
    pub fn arms(&self) -> &[Arm] {
        &self.arms
    }

    /// The most points to return.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// How many points each arm looks up: more than are returned, so that a point in the middle of both arms can come
    /// to the top.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.limit.saturating_mul(DEPTH_FACTOR).clamp(MIN_DEPTH, MAX_DEPTH)
    }

    /// The caller's filter: to be nested beside the tenant condition as one condition. It has no empty list in it.
    #[must_use]
    pub const fn filter(&self) -> Option<&Filter> {
        self.filter.as_ref()
    }
}

/// What one arm compares with.
#[derive(Clone)]
#[expect(clippy::exhaustive_enums, reason = "a back end that misses an arm must not compile")]
pub enum Arm {
    /// Cosine similarity with the dense vector.
    Dense(Vec<f32>),
    /// The sum over common terms of weight in the query, weight in the point, and
    /// `ln((n - df + 0.5) / (df + 0.5) + 1)`, where `n` and `df` count points of this life only.
    Sparse(SparseVector),
}

impl fmt::Debug for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dense(_) => "Dense(..)",
            Self::Sparse(_) => "Sparse(..)",
        })
    }
}

/// An answer of an engine: the stored payload with its tag, and a score.
#[derive(Clone)]
pub struct ScoredPayload {
    pub(crate) score: f32,
    pub(crate) payload: Map<String, Value>,
}

impl ScoredPayload {
    /// An answer to be checked.
    #[must_use]
    pub const fn new(score: f32, payload: Map<String, Value>) -> Self {
        Self { score, payload }
    }

    /// The score and the payload, for a back end that wraps another.
    #[must_use]
    pub fn into_parts(self) -> (f32, Map<String, Value>) {
        (self.score, self.payload)
    }
}

impl fmt::Debug for ScoredPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScoredPayload({})", self.score)
    }
}

const DEPTH_FACTOR: usize = 4;
const MIN_DEPTH: usize = 100;
const MAX_DEPTH: usize = 2000;
