//! The plain back end with something put in its way.

use async_trait::async_trait;
use tenancy_core::StoreVerdict;
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::{
    BackendError, CountRequest, DropScope, FacetRequest, FilterValue, PointKey, QueryRequest, Schema, ScoredPayload,
    ScrollRequest, StoredPayload, VectorBackend, VectorScope, WriteRequest, WriteScope,
};

/// What happens to a call on its way.
#[async_trait]
pub(crate) trait Hooks: Send + Sync + 'static {
    /// Before a write: whether it is done at all.
    async fn before_write(&self, _request: &WriteRequest) -> Result<bool, BackendError> {
        Ok(true)
    }

    /// Before each read, with its name.
    async fn before_read(&self, _name: &'static str) -> Result<(), BackendError> {
        Ok(())
    }

    /// After each call.
    async fn after(&self) {}

    /// What is answered instead.
    fn answers(&self, honest: Vec<ScoredPayload>) -> Vec<ScoredPayload> {
        honest
    }

    /// What is counted instead.
    fn counted(&self, honest: u64) -> u64 {
        honest
    }

    /// What is said instead of what is left.
    fn verdict(&self, honest: StoreVerdict) -> StoreVerdict {
        honest
    }
}

#[derive(Clone)]
pub(crate) struct Fake<H> {
    honest: ReferenceBackend,
    pub(crate) hooks: H,
}

impl<H: Hooks> Fake<H> {
    pub(crate) fn new(hooks: H) -> Self {
        Self { honest: ReferenceBackend::new(), hooks }
    }

    fn stored(&self, honest: Vec<StoredPayload>) -> Vec<StoredPayload> {
        let scored = honest.into_iter().map(|stored| ScoredPayload::new(1.0, stored)).collect();
        self.hooks.answers(scored).into_iter().map(|scored| scored.into_parts().1).collect()
    }

    async fn read<T>(
        &self,
        name: &'static str,
        honest: impl Future<Output = Result<T, BackendError>> + Send,
    ) -> Result<T, BackendError> {
        self.hooks.before_read(name).await?;
        let answer = honest.await?;
        self.hooks.after().await;
        Ok(answer)
    }
}

#[async_trait]
impl<H: Hooks> VectorBackend for Fake<H> {
    async fn prepare(&self, schema: &Schema) -> Result<(), BackendError> {
        self.honest.prepare(schema).await
    }

    async fn write(&self, scope: &WriteScope<'_>, request: WriteRequest) -> Result<(), BackendError> {
        if self.hooks.before_write(&request).await? {
            self.honest.write(scope, request).await?;
        }
        self.hooks.after().await;
        Ok(())
    }

    async fn query(
        &self,
        scope: &VectorScope<'_>,
        requests: &[QueryRequest],
    ) -> Result<Vec<Vec<ScoredPayload>>, BackendError> {
        let answers = self.read("query", self.honest.query(scope, requests)).await?;
        Ok(answers.into_iter().map(|hits| self.hooks.answers(hits)).collect())
    }

    async fn facet(
        &self,
        scope: &VectorScope<'_>,
        request: FacetRequest,
    ) -> Result<Vec<(FilterValue, u64)>, BackendError> {
        self.read("facet", self.honest.facet(scope, request)).await
    }

    async fn scroll(
        &self,
        scope: &VectorScope<'_>,
        request: ScrollRequest,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        Ok(self.stored(self.read("scroll", self.honest.scroll(scope, request)).await?))
    }

    async fn retrieve(
        &self,
        scope: &VectorScope<'_>,
        keys: Vec<PointKey>,
        vectors: bool,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        Ok(self.stored(self.read("retrieve", self.honest.retrieve(scope, keys, vectors)).await?))
    }

    async fn count(&self, scope: &VectorScope<'_>, request: CountRequest) -> Result<u64, BackendError> {
        Ok(self.hooks.counted(self.read("count", self.honest.count(scope, request)).await?))
    }

    async fn drop_partition(&self, scope: &DropScope<'_>) -> Result<(), BackendError> {
        self.honest.drop_partition(scope).await
    }

    async fn verify_dropped(&self, scope: &DropScope<'_>) -> Result<StoreVerdict, BackendError> {
        Ok(self.hooks.verdict(self.honest.verify_dropped(scope).await?))
    }
}
