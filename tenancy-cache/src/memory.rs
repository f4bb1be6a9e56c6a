//! Entries in this process.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use moka::Expiry;
use moka::future::Cache;
use tenancy_core::StoreVerdict;

use crate::backend::{CacheBackend, CacheScope, Found, StoreKey};
use crate::epoch::Epoch;
use crate::error::BackendError;
use crate::graveyard::Graveyard;

/// Keeps entries in memory, a partition for each life with a byte budget of its own: however much one tenant puts, it
/// drives out only its own entries.
///
/// At most `lives` partitions are kept; one more drives out the one that was longest not asked. The most it takes is the
/// product of both settings and some 34 KiB a life, and for a moment a few partitions more, which were driven out or
/// forgotten and are being dropped. Forgetting a life drops its partition, whatever its size; one thread of this value
/// does the dropping.
///
/// Epochs live here too, so they last as long as this value: another process has others.
pub struct MemoryBackend {
    budget: u64,
    lives: usize,
    partitions: Mutex<Partitions>,
    graveyard: Graveyard<Partition>,
}

#[derive(Default)]
struct Partitions {
    by_tag: HashMap<String, Partition>,
    uses: u64,
}

#[derive(Clone)]
struct Partition {
    epoch: Epoch,
    used: u64,
    entries: Cache<StoreKey, Entry>,
}

#[derive(Clone)]
struct Entry {
    sealed: Arc<[u8]>,
    ttl: Duration,
}

impl MemoryBackend {
    /// 8 MiB for each of at most 512 lives.
    #[must_use]
    pub fn new() -> Self {
        Self::with_budget(8 << 20, 512)
    }

    /// So many bytes for each of at most so many lives. An entry counts with its key and what it costs to keep it.
    #[must_use]
    pub fn with_budget(bytes_per_life: u64, lives: usize) -> Self {
        Self { budget: bytes_per_life, lives: lives.max(1), partitions: Mutex::default(), graveyard: Graveyard::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Partitions> {
        self.partitions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Must not be called under the lock.
    fn bury(&self, partition: Option<Partition>) {
        partition.into_iter().for_each(|partition| self.graveyard.bury(partition));
    }

    fn partition(&self, scope: &CacheScope<'_>) -> Option<Cache<StoreKey, Entry>> {
        self.lock().touch(scope.tag()).map(|partition| partition.entries.clone())
    }

    fn partition_or_new(&self, scope: &CacheScope<'_>) -> Partition {
        let mut partitions = self.lock();
        if let Some(partition) = partitions.touch(scope.tag()) {
            return partition.clone();
        }
        let evicted = if partitions.by_tag.len() >= self.lives { partitions.evict() } else { None };
        let fresh = Partition::new(self.budget, partitions.uses);
        partitions.by_tag.insert(scope.tag().to_owned(), fresh.clone());
        drop(partitions);
        self.bury(evicted);
        fresh
    }
}

impl Partitions {
    fn touch(&mut self, tag: &str) -> Option<&Partition> {
        self.uses += 1;
        let uses = self.uses;
        let partition = self.by_tag.get_mut(tag)?;
        partition.used = uses;
        Some(partition)
    }

    /// Takes out the partition that was longest not asked.
    fn evict(&mut self) -> Option<Partition> {
        let oldest = self.by_tag.iter().min_by_key(|(_, partition)| partition.used)?.0.clone();
        self.by_tag.remove(&oldest)
    }
}

impl Partition {
    fn new(budget: u64, used: u64) -> Self {
        let entries = Cache::builder()
            .max_capacity(budget)
            .weigher(|key: &StoreKey, entry: &Entry| {
                u32::try_from(key.as_str().len() + entry.sealed.len() + OVERHEAD).unwrap_or(u32::MAX)
            })
            .expire_after(OwnTtl)
            .build();
        Self { epoch: Epoch::random(), used, entries }
    }
}

#[async_trait]
impl CacheBackend for MemoryBackend {
    async fn epoch(&self, scope: &CacheScope<'_>) -> Result<Epoch, BackendError> {
        Ok(self.partition_or_new(scope).epoch)
    }

    async fn get(&self, scope: &CacheScope<'_>, key: &StoreKey) -> Result<Found, BackendError> {
        let Partition { epoch, entries, .. } = self.partition_or_new(scope);
        Ok(Found::new(epoch, entries.get(key).await.map(|entry| entry.sealed.to_vec())))
    }

    async fn put(
        &self,
        scope: &CacheScope<'_>,
        key: &StoreKey,
        sealed: Vec<u8>,
        ttl: Duration,
    ) -> Result<(), BackendError> {
        // Only a look makes a partition: what comes after a life was forgotten finds none.
        if let Some(entries) = self.partition(scope).filter(|_| key.is_of(scope)) {
            entries.insert(key.clone(), Entry { sealed: sealed.into(), ttl }).await;
        }
        Ok(())
    }

    async fn remove(&self, scope: &CacheScope<'_>, key: &StoreKey, _late: Duration) -> Result<(), BackendError> {
        if let Some(entries) = self.partition(scope) {
            entries.invalidate(key).await;
        }
        Ok(())
    }

    async fn forget(&self, scope: &CacheScope<'_>) -> Result<(), BackendError> {
        let forgotten = self.lock().by_tag.remove(scope.tag());
        self.bury(forgotten);
        Ok(())
    }

    async fn left(&self, scope: &CacheScope<'_>) -> Result<StoreVerdict, BackendError> {
        let left = self.lock().by_tag.get(scope.tag()).map(|partition| partition.entries.clone());
        match left {
            None => Ok(StoreVerdict::Verified),
            Some(entries) => {
                entries.run_pending_tasks().await;
                let empty = entries.iter().next().is_none();
                Ok(if empty { StoreVerdict::Verified } else { StoreVerdict::failed("entries are left") })
            }
        }
    }
}

struct OwnTtl;

impl Expiry<StoreKey, Entry> for OwnTtl {
    fn expire_after_create(&self, _: &StoreKey, entry: &Entry, _: Instant) -> Option<Duration> {
        Some(entry.ttl)
    }

    fn expire_after_update(&self, _: &StoreKey, entry: &Entry, _: Instant, _: Option<Duration>) -> Option<Duration> {
        Some(entry.ttl)
    }
}

impl Default for MemoryBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryBackend")
            .field("bytes_per_life", &self.budget)
            .field("lives", &self.lives)
            .finish_non_exhaustive()
    }
}

/// What keeping an entry costs beside its bytes, roughly.
const OVERHEAD: usize = 256;

#[cfg(test)]
mod tests;
