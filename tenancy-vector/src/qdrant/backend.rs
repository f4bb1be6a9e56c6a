//! The back end: requests built, sent, and their answers read.

use std::fmt;

use async_trait::async_trait;
use tenancy_core::StoreVerdict;

use super::channel::Link;
use super::error::QdrantError;
use super::layout::QdrantLayout;
use super::options::QdrantOptions;
use super::partitions::Partitions;
use super::writes::ensure_distinct;
use crate::backend::{ScoredPayload, StoredPayload, VectorBackend};
use crate::error::BackendError;
use crate::filter::FilterValue;
use crate::id::PointKey;
use crate::request::{CountRequest, FacetRequest, QueryRequest, ScrollRequest, Write, WriteRequest};
use crate::schema::Schema;
use crate::scope::{DropScope, VectorScope, WriteScope};

/// Points on a Qdrant server. There is no way from it to the client.
pub struct QdrantBackend {
    pub(super) link: Link,
    pub(super) layout: QdrantLayout,
    partitions: Partitions,
}

impl QdrantBackend {
    /// Connects, and looks at the server's version.
    ///
    /// # Errors
    /// [`QdrantError::TooOld`] and [`QdrantError::NoVersion`]; [`QdrantError::KeyInTheOpen`], [`QdrantError::BadKey`],
    /// [`QdrantError::BadCertificate`]; [`QdrantError::TimedOut`], [`QdrantError::Server`].
    pub async fn connect(options: QdrantOptions, layout: QdrantLayout) -> Result<Self, QdrantError> {
        let link = Link::open(&options).await?;
        Ok(Self { link, layout, partitions: Partitions::default() })
    }

    /// Makes the collection of all lives and its indexes where they are not there, and looks whether they are as they
    /// have to be. Idempotent. Where each life has a collection of its own there is nothing to do, and each is looked at
    /// when the first write comes.
    ///
    /// An index of the schema is made when it is missing; that on the life only while there are no points, since their
    /// graphs are built by it.
    ///
    /// # Errors
    /// [`QdrantError::Drift`], and those of the connection.
    pub async fn ensure_schema(&self, schema: &Schema) -> Result<(), QdrantError> {
        match self.layout.shared() {
            Some(collection) => self.ensure_collection(collection.as_str(), schema).await,
            None => Ok(()),
        }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl VectorBackend for QdrantBackend {
    async fn prepare(&self, schema: &Schema) -> Result<(), BackendError> {
        Ok(self.ensure_schema(schema).await?)
    }

    async fn write(&self, scope: &WriteScope<'_>, request: WriteRequest) -> Result<(), BackendError> {
        let place = self.layout.place(scope);
        let (schema, writes) = request.into_parts();
        writes.iter().try_for_each(ensure_distinct)?;
        let slot = self.partitions.slot(scope.partition());
        let again = writes.iter().all(|write| matches!(write, Write::Delete(_))).then(|| writes.clone());
        let held = slot.write(|| self.make(&place, &schema)).await?;
        let Err(error) = self.write_all(&place, &schema, writes).await else { return Ok(()) };
        if self.is_made(&place).await.unwrap_or(true) {
            return Err(error);
        }
        // Another process removed the place when the life was moved away. A deletion brings back the place alone; whether
        // anything else is done again decides its caller, who asks the fence before.
        drop(held);
        drop(slot.look_again().await?);
        let Some(writes) = again else { return Err(error) };
        let _held = slot.write(|| self.make(&place, &schema)).await?;
        self.write_all(&place, &schema, writes).await
    }

    async fn query(
        &self,
        scope: &VectorScope<'_>,
        requests: &[QueryRequest],
    ) -> Result<Vec<Vec<ScoredPayload>>, BackendError> {
        self.query_in(&self.layout.place(scope), requests).await
    }

    async fn facet(
        &self,
        scope: &VectorScope<'_>,
        request: FacetRequest,
    ) -> Result<Vec<(FilterValue, u64)>, BackendError> {
        self.facet_in(&self.layout.place(scope), &request).await
    }

    async fn scroll(
        &self,
        scope: &VectorScope<'_>,
        request: ScrollRequest,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        self.scroll_in(&self.layout.place(scope), &request).await
    }

    async fn retrieve(
        &self,
        scope: &VectorScope<'_>,
        keys: Vec<PointKey>,
        vectors: bool,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        self.retrieve_in(&self.layout.place(scope), keys, vectors).await
    }

    async fn count(&self, scope: &VectorScope<'_>, request: CountRequest) -> Result<u64, BackendError> {
        self.count_in(&self.layout.place(scope), &request).await
    }

    /// The collection or the shard key of the life, where it has one.
    async fn vacate(&self, scope: &WriteScope<'_>) -> Result<(), BackendError> {
        match &self.layout {
            QdrantLayout::Shared { .. } => Ok(()),
            QdrantLayout::Collections { .. } | QdrantLayout::ShardKeys { .. } => {
                let place = self.layout.place(scope);
                let slot = self.partitions.slot(scope.partition());
                let _alone = slot.look_again().await?;
                if self.left(&place).await? == 0 { self.drop_place(&place).await } else { Ok(()) }
            }
        }
    }

    async fn drop_partition(&self, scope: &DropScope<'_>) -> Result<(), BackendError> {
        let slot = self.partitions.slot(scope.partition());
        let _alone = slot.drop_for_good().await;
        self.drop_place(&self.layout.place(scope)).await
    }

    /// In a collection of all lives the bytes stay until the server's optimizer comes by: not reachable, and there.
    async fn verify_dropped(&self, scope: &DropScope<'_>) -> Result<StoreVerdict, BackendError> {
        let place = self.layout.place(scope);
        let (is_gone, well) = match &self.layout {
            QdrantLayout::Shared { .. } => (self.left(&place).await? == 0, StoreVerdict::LogicalOnly),
            QdrantLayout::Collections { .. } | QdrantLayout::ShardKeys { .. } => {
                (!self.is_made(&place).await?, StoreVerdict::Verified)
            }
        };
        Ok(if is_gone { well } else { StoreVerdict::failed("points are left, or their collection or shard") })
    }
}

impl fmt::Debug for QdrantBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QdrantBackend").field("layout", &self.layout).finish_non_exhaustive()
    }
}
