//! Two back ends behind one, each call to the one where the life is.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tenancy_core::StoreVerdict;

use super::Tiers;
use super::lease::Watch;
use super::placement::Tier;
use crate::backend::{ScoredPayload, StoredPayload, VectorBackend};
use crate::error::BackendError;
use crate::filter::FilterValue;
use crate::id::PointKey;
use crate::request::{CountRequest, FacetRequest, QueryRequest, ScrollRequest, WriteRequest};
use crate::schema::Schema;
use crate::scope::{DropScope, VectorScope, WriteScope};

/// Two back ends as one: one that most lives share, and one in which a large life has a place of its own. Every call goes
/// where the life is and nowhere else, also when that one does not answer; a [`Mover`](super::Mover) moves it. Cheap to
/// clone.
#[derive(Clone)]
pub struct TieredBackend {
    shared: Arc<dyn VectorBackend>,
    dedicated: Arc<dyn VectorBackend>,
    pub(super) tiers: Arc<dyn Tiers>,
    pub(super) patience: Duration,
    pub(super) watch: Watch,
}

impl TieredBackend {
    /// Two back ends that nobody else has, and what keeps where each life is, for this store alone.
    #[must_use]
    pub fn new(shared: impl VectorBackend, dedicated: impl VectorBackend, tiers: impl Tiers) -> Self {
        let (shared, dedicated) = (Arc::new(shared), Arc::new(dedicated));
        Self { shared, dedicated, tiers: Arc::new(tiers), patience: Duration::from_secs(30), watch: Watch::default() }
    }

    /// Sets after how long a write, or a portion of one by a condition, is given up, with [`BackendError::Failed`]; 30 s unless set. The same in every process.
    ///
    /// Twice as long a mover waits for what it can't see, when a move begins and when one is taken over. What a back end has
    /// not done by then of a write that was given up it must not do any more, and no process may stand still for as long in
    /// the middle of a write and then go on with it.
    ///
    /// A move that stands still for twenty times as long is given up by the next write of its life. From then on only writes that
    /// take points out are noted. Whoever moves the life again begins anew.
    #[must_use]
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How long a mover waits for what it can't see.
    pub(super) fn wait(&self) -> Duration {
        self.patience * 2
    }

    /// For how long writes are noted for a move that stands still.
    pub(super) fn lease(&self) -> Duration {
        self.patience * 20
    }

    pub(super) fn of(&self, tier: Tier) -> &dyn VectorBackend {
        match tier {
            Tier::Shared => &*self.shared,
            Tier::Dedicated => &*self.dedicated,
        }
    }

    /// Reads where the life is. Once more where reads turned meanwhile: what they turned from may be empty by now.
    async fn read<'a, T, F>(
        &'a self,
        scope: &VectorScope<'_>,
        ask: impl Fn(&'a dyn VectorBackend) -> F + Send + Sync,
    ) -> Result<T, BackendError>
    where
        F: Future<Output = Result<T, BackendError>> + Send,
        T: Send,
    {
        let mut at = self.tiers.placement(scope).await?;
        loop {
            let answer = ask(self.of(at.reads)).await;
            let now = self.tiers.placement(scope).await?;
            if now.reads_as(&at) {
                return answer;
            }
            at = now;
        }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl VectorBackend for TieredBackend {
    async fn prepare(&self, schema: &Schema) -> Result<(), BackendError> {
        self.shared.prepare(schema).await?;
        self.dedicated.prepare(schema).await
    }

    async fn write(&self, scope: &WriteScope<'_>, request: WriteRequest) -> Result<(), BackendError> {
        self.write_where_it_is(scope, request).await
    }

    async fn query(
        &self,
        scope: &VectorScope<'_>,
        requests: &[QueryRequest],
    ) -> Result<Vec<Vec<ScoredPayload>>, BackendError> {
        self.read(scope, |backend| backend.query(scope, requests)).await
    }

    async fn facet(
        &self,
        scope: &VectorScope<'_>,
        request: FacetRequest,
    ) -> Result<Vec<(FilterValue, u64)>, BackendError> {
        self.read(scope, |backend| backend.facet(scope, request.clone())).await
    }

    async fn scroll(
        &self,
        scope: &VectorScope<'_>,
        request: ScrollRequest,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        self.read(scope, |backend| backend.scroll(scope, request.clone())).await
    }

    async fn retrieve(
        &self,
        scope: &VectorScope<'_>,
        keys: Vec<PointKey>,
        vectors: bool,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        self.read(scope, |backend| backend.retrieve(scope, keys.clone(), vectors)).await
    }

    async fn count(&self, scope: &VectorScope<'_>, request: CountRequest) -> Result<u64, BackendError> {
        self.read(scope, |backend| backend.count(scope, request.clone())).await
    }

    /// Nothing: its own movers look after both.
    async fn vacate(&self, _scope: &WriteScope<'_>) -> Result<(), BackendError> {
        Ok(())
    }

    /// From both, wherever the life is said to be, and what was noted of it. Its place goes first: nobody begins to write
    /// or to move it from then on.
    /// What a mover may have sent a moment before is waited for, so a life that is on its way takes twice the patience.
    async fn drop_partition(&self, scope: &DropScope<'_>) -> Result<(), BackendError> {
        let was_moving = matches!(self.tiers.placement(scope).await, Ok(at) if at.is_moving());
        self.tiers.drop_life(scope).await?;
        if was_moving {
            tokio::time::sleep(self.wait()).await;
        }
        self.shared.drop_partition(scope).await?;
        self.dedicated.drop_partition(scope).await
    }

    /// The worse of what both say; [`Failed`](StoreVerdict::Failed) while the life has a place.
    async fn verify_dropped(&self, scope: &DropScope<'_>) -> Result<StoreVerdict, BackendError> {
        match self.tiers.placement(scope).await {
            Err(BackendError::Dropped) => {}
            Err(error) => return Err(error),
            Ok(_) => return Ok(StoreVerdict::failed("the life has a place")),
        }
        let shared = self.shared.verify_dropped(scope).await?;
        let dedicated = self.dedicated.verify_dropped(scope).await?;
        Ok(shared.and(dedicated))
    }
}

impl fmt::Debug for TieredBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TieredBackend(..)")
    }
}
