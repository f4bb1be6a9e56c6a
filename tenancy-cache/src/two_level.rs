//! A back end that processes share, and before it what this one found there a moment ago.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tenancy_core::StoreVerdict;
use tokio::sync::RwLock;

use crate::backend::{CacheBackend, CacheScope, Found, StoreKey};
use crate::epoch::Epoch;
use crate::error::BackendError;
use crate::memory::MemoryBackend;

/// Keeps what was found in a shared back end in this process's memory too, and answers from there for a moment.
///
/// What this process removes or flushes is gone at once. What *another* process removes or flushes, this one goes on finding
/// for as long as the moment: it does not ask before. That is what is saved, so there is no way around it; without a moment
/// use the shared back end alone. A removal that failed is owed as ever, and its layer stands aside.
///
/// In memory are the same sealed bytes under the same names, a budget for each life, and nothing that the shared back end has not
/// answered.
pub struct TwoLevel<F> {
    near: MemoryBackend,
    far: F,
    moment: Duration,
    turns: [RwLock<u64>; STRIPES],
    hash: RandomState,
}

impl<F: CacheBackend> TwoLevel<F> {
    /// Answers for this long from memory, for a second at most: that takes nearly all load of a busy question off the shared
    /// back end, and no entry is found for longer than its seal lets it.
    #[must_use]
    pub fn new(near: MemoryBackend, far: F, moment: Duration) -> Self {
        let moment = moment.min(LONGEST_MOMENT);
        Self { near, far, moment, turns: [const { RwLock::const_new(0) }; STRIPES], hash: RandomState::new() }
    }

    /// How often something was taken out of the life's memory. Lives share counts: then something is not kept that could be.
    fn turns(&self, scope: &CacheScope<'_>) -> &RwLock<u64> {
        let stripe = self.hash.hash_one(scope.tag()) as usize % STRIPES;
        &self.turns[stripe]
    }

    /// Takes out of memory, so that nothing that was asked for before is put there after it.
    async fn take_out<T>(
        &self,
        scope: &CacheScope<'_>,
        take: impl Future<Output = Result<T, BackendError>> + Send,
    ) -> Result<T, BackendError> {
        let mut turns = self.turns(scope).write().await;
        *turns += 1;
        take.await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<F: CacheBackend> CacheBackend for TwoLevel<F> {
    async fn epoch(&self, scope: &CacheScope<'_>) -> Result<Epoch, BackendError> {
        self.far.epoch(scope).await
    }

    async fn get(&self, scope: &CacheScope<'_>, key: &StoreKey) -> Result<Found, BackendError> {
        if let Some((epoch, bytes)) = self.near.get(scope, key).await?.into_bytes().and_then(|bytes| taken(&bytes)) {
            return Ok(Found::new(epoch, Some(bytes)));
        }
        let turns = *self.turns(scope).read().await;
        let asked = Instant::now();
        let found = self.far.get(scope, key).await?;
        if let Some(bytes) = &found.bytes
            && let Some(left) = self.moment.checked_sub(asked.elapsed())
        {
            let now = self.turns(scope).read().await;
            if *now == turns {
                self.near.put(scope, key, noted(found.epoch, bytes), left).await?;
            }
        }
        Ok(found)
    }

    async fn put(
        &self,
        scope: &CacheScope<'_>,
        key: &StoreKey,
        sealed: Vec<u8>,
        ttl: Duration,
    ) -> Result<(), BackendError> {
        self.far.put(scope, key, sealed, ttl).await?;
        // What it replaced. The next look brings it here.
        self.take_out(scope, self.near.remove(scope, key, Duration::ZERO)).await
    }

    /// Before and after: a look that is under way has asked before the one or the other.
    async fn remove(&self, scope: &CacheScope<'_>, key: &StoreKey, late: Duration) -> Result<(), BackendError> {
        self.take_out(scope, self.near.remove(scope, key, late)).await?;
        self.far.remove(scope, key, late).await?;
        self.take_out(scope, self.near.remove(scope, key, late)).await
    }

    async fn forget(&self, scope: &CacheScope<'_>) -> Result<(), BackendError> {
        self.take_out(scope, self.near.forget(scope)).await?;
        self.far.forget(scope).await?;
        self.take_out(scope, self.near.forget(scope)).await
    }

    /// What the shared back end says, once the moment is over for every process, and no more than
    /// [`LogicalOnly`](StoreVerdict::LogicalOnly): sealed bytes may lie in the memory of another until it needs the place.
    async fn left(&self, scope: &CacheScope<'_>) -> Result<StoreVerdict, BackendError> {
        tokio::time::sleep(LONGEST_MOMENT).await;
        let near = self.near.left(scope).await?;
        Ok(near.and(self.far.left(scope).await?).and(StoreVerdict::LogicalOnly))
    }
}

/// The epoch that the shared back end said, and its bytes.
fn noted(epoch: Epoch, bytes: &[u8]) -> Vec<u8> {
    [epoch.as_bytes(), bytes].concat()
}

fn taken(kept: &[u8]) -> Option<(Epoch, Vec<u8>)> {
    let (epoch, bytes) = kept.split_first_chunk()?;
    Some((Epoch::from_bytes(*epoch), bytes.to_vec()))
}

impl<F: fmt::Debug> fmt::Debug for TwoLevel<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TwoLevel")
            .field("near", &self.near)
            .field("far", &self.far)
            .field("moment", &self.moment)
            .finish_non_exhaustive()
    }
}

/// Shorter than the margin between an entry's time and its seal's.
const LONGEST_MOMENT: Duration = Duration::from_secs(1);
const STRIPES: usize = 1024;
