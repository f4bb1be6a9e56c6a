//! The back end.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use tenancy_core::{Life, StoreVerdict};
use tenancy_vector::turns::Turns;
use tenancy_vector::{
    BackendError, CountRequest, DropScope, FacetRequest, FilterValue, PointKey, QueryRequest, Schema, ScoredPayload,
    ScrollRequest, StoredPayload, VectorBackend, VectorScope, Write, WriteRequest, WriteScope,
};

use crate::options::{EdgeError, EdgeOptions};
use crate::shard::Shard;
use crate::shards::Shards;

/// Keeps every life's points in a shard directory of its own, named by the partition. Cheap to clone.
///
/// The engine blocks, so it runs on Tokio's threads for blocking work, of which each life has a share. A call whose future is
/// dropped runs to its end there, owning what it needs.
#[derive(Clone)]
pub struct EdgeBackend {
    shards: Arc<Shards>,
    turns: Turns,
}

impl EdgeBackend {
    /// Opens a root directory, and no shard yet.
    ///
    /// # Errors
    /// [`EdgeError::Locked`] when another back end has the directory; [`EdgeError::Io`].
    pub fn open(options: EdgeOptions) -> Result<Self, EdgeError> {
        let turns = Turns::new(options.max_calls);
        Shards::open(options).map(|shards| Self { shards: Arc::new(shards), turns })
    }

    /// Reads in a partition; `T::default()` where there is none.
    async fn read<T: Default + Send + 'static>(
        &self,
        scope: &VectorScope<'_>,
        act: impl FnOnce(&Shard, Life) -> Result<T, BackendError> + Send + 'static,
    ) -> Result<T, BackendError> {
        let (life, partition) = (scope.life(), scope.partition().to_owned());
        self.blocking(scope, move |shards| Ok(shards.with(&partition, |shard| act(shard, life))?.unwrap_or_default()))
            .await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        scope: &VectorScope<'_>,
        work: impl FnOnce(&Shards) -> Result<T, BackendError> + Send + 'static,
    ) -> Result<T, BackendError> {
        let shards = Arc::clone(&self.shards);
        // A life's calls wait for each other, on threads: without a share they would hold every thread there is.
        let turn = self.turns.take(scope).await;
        let work = move || {
            let _until_it_is_done = turn;
            work(&shards)
        };
        // A panic of the engine ends the call, not the process.
        tokio::task::spawn_blocking(work).await.map_err(BackendError::failed)?
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl VectorBackend for EdgeBackend {
    /// Nothing: tenants share nothing here.
    async fn prepare(&self, _schema: &Schema) -> Result<(), BackendError> {
        Ok(())
    }

    async fn write(&self, scope: &WriteScope<'_>, request: WriteRequest) -> Result<(), BackendError> {
        let (life, partition) = (scope.life(), scope.partition().to_owned());
        self.blocking(scope, move |shards| {
            if request.writes().iter().any(stores) {
                let schema = request.schema().clone();
                return shards.with_made(&partition, schema, |shard| shard.write(life, request));
            }
            shards.with(&partition, |shard| shard.write(life, request)).map(Option::unwrap_or_default)
        })
        .await
    }

    async fn query(
        &self,
        scope: &VectorScope<'_>,
        requests: &[QueryRequest],
    ) -> Result<Vec<Vec<ScoredPayload>>, BackendError> {
        let (life, partition, requests) = (scope.life(), scope.partition().to_owned(), requests.to_vec());
        self.blocking(scope, move |shards| {
            let answers =
                shards.with(&partition, |shard| requests.iter().map(|request| shard.query(life, request)).collect())?;
            // No partition: no points, for each of the queries.
            Ok(answers.unwrap_or_else(|| requests.iter().map(|_| Vec::new()).collect()))
        })
        .await
    }

    async fn facet(
        &self,
        scope: &VectorScope<'_>,
        request: FacetRequest,
    ) -> Result<Vec<(FilterValue, u64)>, BackendError> {
        self.read(scope, move |shard, life| shard.facet(life, &request)).await
    }

    async fn scroll(
        &self,
        scope: &VectorScope<'_>,
        request: ScrollRequest,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        self.read(scope, move |shard, life| shard.page(life, &request)).await
    }

    async fn retrieve(
        &self,
        scope: &VectorScope<'_>,
        keys: Vec<PointKey>,
        vectors: bool,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        self.read(scope, move |shard, life| shard.retrieve(life, &keys, vectors)).await
    }

    async fn count(&self, scope: &VectorScope<'_>, request: CountRequest) -> Result<u64, BackendError> {
        self.read(scope, move |shard, life| shard.count(life, &request)).await
    }

    async fn vacate(&self, scope: &WriteScope<'_>) -> Result<(), BackendError> {
        let (life, partition) = (scope.life(), scope.partition().to_owned());
        self.blocking(scope, move |shards| shards.vacate(&partition, |shard| shard.count_all(life))).await
    }

    async fn drop_partition(&self, scope: &DropScope<'_>) -> Result<(), BackendError> {
        let partition = scope.partition().to_owned();
        self.blocking(scope, move |shards| shards.drop_partition(&partition)).await
    }

    async fn verify_dropped(&self, scope: &DropScope<'_>) -> Result<StoreVerdict, BackendError> {
        let partition = scope.partition().to_owned();
        let remains = self.blocking(scope, move |shards| shards.remains(&partition)).await?;
        Ok(if remains { StoreVerdict::failed("points are left") } else { StoreVerdict::Verified })
    }
}

/// Whether a write may make a point. Others have nothing to do where there is no partition.
const fn stores(write: &Write) -> bool {
    match write {
        Write::Upsert { .. } => true,
        Write::SetVectors(_)
        | Write::DeleteVectors(..)
        | Write::SetPayload(..)
        | Write::OverwritePayload(..)
        | Write::DeletePayload(..)
        | Write::Delete(_) => false,
    }
}

impl fmt::Debug for EdgeBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EdgeBackend")
    }
}
