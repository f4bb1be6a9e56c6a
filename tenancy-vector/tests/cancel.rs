//! The futures of a handle, dropped at every await, on a back end that has many.

#[expect(dead_code, reason = "the other cases have tests of their own")]
mod cases;
#[path = "cases/cancel.rs"]
mod sweep;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tenancy_core::StoreVerdict;
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::{
    BackendError, PointKey, QueryRequest, ScoredPayload, UpsertRequest, VectorBackend, VectorScope, VectorStore,
};

#[tokio::test]
async fn a_dropped_call_leaves_the_store_whole_and_the_check_on_record() {
    let store = |realm: &_| VectorStore::new(realm, Hesitant(ReferenceBackend::new()), cases::schema());
    sweep::dropped_calls_leave_the_store_whole(store).await;
}

/// Gives way several times before and after it does what it is asked.
struct Hesitant(ReferenceBackend);

async fn hesitate() {
    for _ in 0..4 {
        tokio::task::yield_now().await;
    }
}

#[async_trait]
impl VectorBackend for Hesitant {
    async fn upsert(&self, scope: VectorScope<'_>, request: UpsertRequest) -> Result<(), BackendError> {
        hesitate().await;
        self.0.upsert(scope, request).await?;
        hesitate().await;
        Ok(())
    }

    async fn query(&self, scope: VectorScope<'_>, request: QueryRequest) -> Result<Vec<ScoredPayload>, BackendError> {
        hesitate().await;
        let hits = self.0.query(scope, request).await?;
        hesitate().await;
        Ok(hits)
    }

    async fn retrieve(
        &self,
        scope: VectorScope<'_>,
        keys: Vec<PointKey>,
    ) -> Result<Vec<Map<String, Value>>, BackendError> {
        hesitate().await;
        self.0.retrieve(scope, keys).await
    }

    async fn delete(&self, scope: VectorScope<'_>, keys: Vec<PointKey>) -> Result<u64, BackendError> {
        hesitate().await;
        let deleted = self.0.delete(scope, keys).await?;
        hesitate().await;
        Ok(deleted)
    }

    async fn count(&self, scope: VectorScope<'_>) -> Result<u64, BackendError> {
        hesitate().await;
        self.0.count(scope).await
    }

    async fn drop_partition(&self, scope: VectorScope<'_>) -> Result<(), BackendError> {
        self.0.drop_partition(scope).await
    }

    async fn verify_dropped(&self, scope: VectorScope<'_>) -> Result<StoreVerdict, BackendError> {
        self.0.verify_dropped(scope).await
    }
}
