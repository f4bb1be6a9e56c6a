//! What an engine must be able to do.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tenancy_core::StoreVerdict;

use crate::error::BackendError;
use crate::filter::FilterValue;
use crate::id::PointKey;
use crate::name::VectorName;
use crate::request::{CountRequest, FacetRequest, QueryRequest, ScrollRequest, WriteRequest};
use crate::schema::Schema;
use crate::scope::{DropScope, VectorScope, WriteScope};
use crate::tag::Tag;
use crate::vector::Vector;

/// An engine that keeps points, one partition a life. Implemented by users; called by this crate, since nobody else can make a
/// [`VectorScope`].
///
/// Its code is trusted as the engine is: it holds every tenant's points. A back end that wraps another passes on the scope it was
/// given, and only in a call of that kind: one to read does not write, and one to write does not drop. It can rebuild answers,
/// and not requests.
///
/// Whose a point is, that it meets the filter, and how many there are is checked of each hit that comes back, so an engine that
/// ignores a condition of a search fails loudly. It must not rely on that, and facets, counts, scores and what else is in a
/// payload are believed: every request carries the life as a condition that has to hold, see [`reserved`](crate::reserved).
/// Show it with [`conformance::run`](crate::conformance::run).
///
/// Writes run in a task of their own and are not dropped half-way unless the runtime stops, or a
/// [`TieredBackend`](crate::tiers::TieredBackend) gives one up. Reads may be dropped at any await.
#[async_trait]
pub trait VectorBackend: Send + Sync + 'static {
    /// Makes what all tenants share, such as a collection and its indexes, where it is not there. Idempotent; a back
    /// end that shares nothing has nothing to do.
    ///
    /// # Errors
    /// [`BackendError::Unfit`] when what is there was made for another schema, or is not set up to keep
    /// tenants apart.
    async fn prepare(&self, schema: &Schema) -> Result<(), BackendError>;

    /// Does the writes, one after the other. Makes the partition when it is not there and points are to be stored.
    /// When it returns they are durable, as far as the back end says, and seen by whatever starts later. A failure may
    /// leave any part; done again, they leave what they would have left.
    ///
    /// # Errors
    /// [`BackendError::Collision`] when an engine id is taken by a point of another life, with nothing of that write
    /// done; [`BackendError::Unfit`] when the partition was made for another schema;
    /// [`BackendError::Dropped`] after [`drop_partition`](Self::drop_partition).
    async fn write(&self, scope: &WriteScope<'_>, request: WriteRequest) -> Result<(), BackendError>;

    /// For each of the queries the best points, the best first; by the order or by chance where that is asked for.
    /// None where there is no partition.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn query(
        &self,
        scope: &VectorScope<'_>,
        requests: &[QueryRequest],
    ) -> Result<Vec<Vec<ScoredPayload>>, BackendError>;

    /// How often each value of a key is there.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn facet(
        &self,
        scope: &VectorScope<'_>,
        request: FacetRequest,
    ) -> Result<Vec<(FilterValue, u64)>, BackendError>;

    /// One page of points. Fewer than the limit: it was the last.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn scroll(&self, scope: &VectorScope<'_>, request: ScrollRequest)
    -> Result<Vec<StoredPayload>, BackendError>;

    /// Those of the points that are there, in any order.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn retrieve(
        &self,
        scope: &VectorScope<'_>,
        keys: Vec<PointKey>,
        vectors: bool,
    ) -> Result<Vec<StoredPayload>, BackendError>;

    /// How many points there are, exactly.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn count(&self, scope: &VectorScope<'_>, request: CountRequest) -> Result<u64, BackendError>;

    /// Removes the place that a life has to itself, such as a collection, a shard or a folder, where no point is in it: the
    /// life was moved away. A later write makes it again. Nothing to do where lives share a place, and by default.
    ///
    /// Asked by a [`Mover`](crate::tiers::Mover) alone, about the back end in which the life is not, while nobody else writes
    /// to it there. It looks itself whether there are no points.
    ///
    /// # Errors
    /// [`BackendError`]; it may be gone.
    async fn vacate(&self, _scope: &WriteScope<'_>) -> Result<(), BackendError> {
        Ok(())
    }

    /// Deletes the partition for good. Waits for what is under way in it; a write that comes later is refused with
    /// [`BackendError::Dropped`]. Idempotent.
    ///
    /// # Errors
    /// [`BackendError`]; called again, it goes on where it stopped.
    async fn drop_partition(&self, scope: &DropScope<'_>) -> Result<(), BackendError>;

    /// Looks for what is left of a dropped partition, and says honestly what it found out.
    ///
    /// # Errors
    /// [`BackendError`] when it can't look.
    async fn verify_dropped(&self, scope: &DropScope<'_>) -> Result<StoreVerdict, BackendError>;
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<B: VectorBackend + ?Sized> VectorBackend for Arc<B> {
    async fn prepare(&self, schema: &Schema) -> Result<(), BackendError> {
        (**self).prepare(schema).await
    }

    async fn write(&self, scope: &WriteScope<'_>, request: WriteRequest) -> Result<(), BackendError> {
        (**self).write(scope, request).await
    }

    async fn query(
        &self,
        scope: &VectorScope<'_>,
        requests: &[QueryRequest],
    ) -> Result<Vec<Vec<ScoredPayload>>, BackendError> {
        (**self).query(scope, requests).await
    }

    async fn facet(
        &self,
        scope: &VectorScope<'_>,
        request: FacetRequest,
    ) -> Result<Vec<(FilterValue, u64)>, BackendError> {
        (**self).facet(scope, request).await
    }

    async fn scroll(
        &self,
        scope: &VectorScope<'_>,
        request: ScrollRequest,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        (**self).scroll(scope, request).await
    }

    async fn retrieve(
        &self,
        scope: &VectorScope<'_>,
        keys: Vec<PointKey>,
        vectors: bool,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        (**self).retrieve(scope, keys, vectors).await
    }

    async fn count(&self, scope: &VectorScope<'_>, request: CountRequest) -> Result<u64, BackendError> {
        (**self).count(scope, request).await
    }

    async fn vacate(&self, scope: &WriteScope<'_>) -> Result<(), BackendError> {
        (**self).vacate(scope).await
    }

    async fn drop_partition(&self, scope: &DropScope<'_>) -> Result<(), BackendError> {
        (**self).drop_partition(scope).await
    }

    async fn verify_dropped(&self, scope: &DropScope<'_>) -> Result<StoreVerdict, BackendError> {
        (**self).verify_dropped(scope).await
    }
}

/// A stored point as an engine answers: the payload with its tag, and the vectors where they were asked for.
#[derive(Clone)]
pub struct StoredPayload {
    /// As it came, if it has the form of one.
    pub(crate) tag: Option<Tag>,
    /// Without the tag.
    pub(crate) payload: Map<String, Value>,
    pub(crate) vectors: BTreeMap<VectorName, Vector>,
}

impl StoredPayload {
    /// An answer to be checked, without vectors.
    #[must_use]
    pub fn new(mut payload: Map<String, Value>) -> Self {
        let tag = Tag::take(&mut payload);
        Self { tag, payload, vectors: BTreeMap::new() }
    }

    /// With vectors.
    #[must_use]
    pub fn with_vectors(mut self, vectors: BTreeMap<VectorName, Vector>) -> Self {
        self.vectors = vectors;
        self
    }

    /// The payload and the vectors, for a back end that wraps another.
    #[must_use]
    pub fn into_parts(self) -> (Map<String, Value>, BTreeMap<VectorName, Vector>) {
        let mut payload = self.payload;
        if let Some(tag) = self.tag {
            tag.put(&mut payload);
        }
        (payload, self.vectors)
    }
}

/// A stored point and its score.
#[derive(Clone)]
pub struct ScoredPayload {
    pub(crate) score: f32,
    pub(crate) stored: StoredPayload,
}

impl ScoredPayload {
    /// An answer to be checked.
    #[must_use]
    pub const fn new(score: f32, stored: StoredPayload) -> Self {
        Self { score, stored }
    }

    /// The score and the point, for a back end that wraps another.
    #[must_use]
    pub fn into_parts(self) -> (f32, StoredPayload) {
        (self.score, self.stored)
    }
}

impl fmt::Debug for StoredPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoredPayload(..)")
    }
}

impl fmt::Debug for ScoredPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScoredPayload({})", self.score)
    }
}
