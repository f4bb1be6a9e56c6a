//! The back end.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tenancy_core::StoreVerdict;
use tenancy_vector::{BackendError, PointKey, QueryRequest, ScoredPayload, UpsertRequest, VectorBackend, VectorScope};

use crate::options::{EdgeError, EdgeOptions};
use crate::shards::Shards;

/// Keeps every life's points in a shard directory of its own, named by the partition. Cheap to clone.
///
/// The engine blocks, so it runs on Tokio's threads for blocking work. A call whose future is dropped runs to its end
/// there, owning what it needs.
#[derive(Clone)]
pub struct EdgeBackend {
    shards: Arc<Shards>,
}

impl EdgeBackend {
    /// Opens a root directory, and no shard yet.
    ///
    /// # Errors
    /// [`EdgeError::Locked`] when another back end has the directory; [`EdgeError::Io`].
    pub fn open(options: EdgeOptions) -> Result<Self, EdgeError> {
        Shards::open(options).map(|shards| Self { shards: Arc::new(shards) })
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shards) -> Result<T, BackendError> + Send + 'static,
    ) -> Result<T, BackendError> {
        let shards = Arc::clone(&self.shards);
        // A panic of the engine ends the call, not the process.
        tokio::task::spawn_blocking(move || work(&shards)).await.map_err(BackendError::failed)?
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl VectorBackend for EdgeBackend {
    async fn upsert(&self, scope: VectorScope<'_>, request: UpsertRequest) -> Result<(), BackendError> {
        let (life, partition) = (scope.life(), scope.partition().to_owned());
        self.blocking(move |shards| {
            let schema = request.schema();
            shards.with_made(&partition, schema, |shard| shard.upsert(life, request))
        })
        .await
    }

    async fn query(&self, scope: VectorScope<'_>, request: QueryRequest) -> Result<Vec<ScoredPayload>, BackendError> {
        let (life, partition) = (scope.life(), scope.partition().to_owned());
        self.blocking(move |shards| {
            Ok(shards.with(&partition, |shard| shard.query(life, &request))?.unwrap_or_default())
        })
        .await
    }

    async fn retrieve(
        &self,
        scope: VectorScope<'_>,
        keys: Vec<PointKey>,
    ) -> Result<Vec<Map<String, Value>>, BackendError> {
        let (life, partition) = (scope.life(), scope.partition().to_owned());
        self.blocking(move |shards| {
            Ok(shards.with(&partition, |shard| shard.retrieve(life, &keys))?.unwrap_or_default())
        })
        .await
    }

    async fn delete(&self, scope: VectorScope<'_>, keys: Vec<PointKey>) -> Result<u64, BackendError> {
        let (life, partition) = (scope.life(), scope.partition().to_owned());
        self.blocking(move |shards| Ok(shards.with(&partition, |shard| shard.delete(life, &keys))?.unwrap_or_default()))
            .await
    }

    async fn count(&self, scope: VectorScope<'_>) -> Result<u64, BackendError> {
        let (life, partition) = (scope.life(), scope.partition().to_owned());
        self.blocking(move |shards| Ok(shards.with(&partition, |shard| shard.count(life))?.unwrap_or_default())).await
    }

    async fn drop_partition(&self, scope: VectorScope<'_>) -> Result<(), BackendError> {
        let partition = scope.partition().to_owned();
        self.blocking(move |shards| shards.drop_partition(&partition)).await
    }

    async fn verify_dropped(&self, scope: VectorScope<'_>) -> Result<StoreVerdict, BackendError> {
        let partition = scope.partition().to_owned();
        let remains = self.blocking(move |shards| shards.remains(&partition)).await?;
        Ok(if remains { StoreVerdict::Failed } else { StoreVerdict::Verified })
    }
}

impl fmt::Debug for EdgeBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EdgeBackend")
    }
}
