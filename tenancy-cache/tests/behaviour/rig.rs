//! A back end that does as a test says, and the cache over it.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use tenancy_cache::{
    BackendError, CacheBackend, CacheError, CacheScope, CacheSettings, Caches, Epoch, Found, MemoryBackend, StoreKey,
    TenantCaches,
};
use tenancy_core::StoreVerdict;
use tenancy_testkit::TestTenants;
use tokio::sync::Notify;

pub(crate) use crate::look::{Look, begin_write};

/// Keeps entries in memory, except where it is told to misbehave.
#[derive(Default)]
pub(crate) struct Rig {
    inner: MemoryBackend,
    /// Everything fails.
    pub(crate) down: AtomicBool,
    /// Nothing ever answers.
    pub(crate) hangs: AtomicBool,
    pub(crate) put_fails: AtomicBool,
    pub(crate) remove_fails: AtomicBool,
    /// Forgetting a life changes its epoch and leaves the entries where they are, as a remote store would.
    pub(crate) lazy: AtomicBool,
    epochs: Mutex<HashMap<String, Epoch>>,
    /// How often each call is pending before it does its work, and again before it answers.
    pub(crate) pauses: AtomicUsize,
    /// What every look answers instead of the truth.
    pub(crate) lie: Mutex<Option<Vec<u8>>>,
    /// All that was put.
    pub(crate) puts: Mutex<Vec<(StoreKey, Vec<u8>)>>,
    pub(crate) removed: Mutex<Vec<StoreKey>>,
    hold: Mutex<Option<Arc<Hold>>>,
}

/// Where a look is held that has seen what is there, and has not said so.
#[derive(Default)]
pub(crate) struct Hold {
    pub(crate) has_seen: Notify,
    pub(crate) go_on: Notify,
}

impl Rig {
    async fn obey(&self, fails: bool) -> Result<(), BackendError> {
        self.pause().await;
        if self.hangs.load(SeqCst) {
            std::future::pending::<()>().await;
        }
        if fails || self.down.load(SeqCst) {
            Err(BackendError::new("redis://:hunter2@cache/0 refused"))
        } else {
            Ok(())
        }
    }

    async fn pause(&self) {
        for _ in 0..self.pauses.load(SeqCst) {
            tokio::task::yield_now().await;
        }
    }

    /// Holds the next look.
    pub(crate) fn hold(&self) -> Arc<Hold> {
        Arc::clone(self.hold.lock().unwrap().insert(Arc::default()))
    }

    pub(crate) fn last_put(&self) -> (StoreKey, Vec<u8>) {
        self.puts.lock().unwrap().last().expect("something was put").clone()
    }

    pub(crate) fn lie(&self, bytes: impl Into<Option<Vec<u8>>>) {
        *self.lie.lock().unwrap() = bytes.into();
    }
}

#[async_trait]
impl CacheBackend for Rig {
    async fn epoch(&self, scope: &CacheScope<'_>) -> Result<Epoch, BackendError> {
        self.obey(false).await?;
        let kept = self.inner.epoch(scope).await?;
        Ok(*self.epochs.lock().unwrap().get(scope.tag()).unwrap_or(&kept))
    }

    async fn get(&self, scope: &CacheScope<'_>, key: &StoreKey) -> Result<Found, BackendError> {
        self.obey(false).await?;
        let lie = self.lie.lock().unwrap().clone();
        let kept = self.inner.get(scope, key).await?;
        let epoch = *self.epochs.lock().unwrap().get(scope.tag()).unwrap_or(&kept.epoch());
        let hold = self.hold.lock().unwrap().take();
        if let Some(hold) = hold {
            hold.has_seen.notify_one();
            hold.go_on.notified().await;
        }
        self.pause().await;
        Ok(Found::new(epoch, lie.or(kept.into_bytes())))
    }

    async fn put(
        &self,
        scope: &CacheScope<'_>,
        key: &StoreKey,
        sealed: Vec<u8>,
        ttl: Duration,
    ) -> Result<(), BackendError> {
        self.obey(self.put_fails.load(SeqCst)).await?;
        self.puts.lock().unwrap().push((key.clone(), sealed.clone()));
        self.inner.put(scope, key, sealed, ttl).await?;
        self.pause().await;
        Ok(())
    }

    async fn remove(&self, scope: &CacheScope<'_>, key: &StoreKey, late: Duration) -> Result<(), BackendError> {
        self.obey(self.remove_fails.load(SeqCst)).await?;
        self.removed.lock().unwrap().push(key.clone());
        self.inner.remove(scope, key, late).await?;
        self.pause().await;
        Ok(())
    }

    async fn forget(&self, scope: &CacheScope<'_>) -> Result<(), BackendError> {
        self.obey(self.remove_fails.load(SeqCst)).await?;
        if self.lazy.load(SeqCst) {
            self.epochs.lock().unwrap().insert(scope.tag().to_owned(), Epoch::random());
        } else {
            self.inner.forget(scope).await?;
        }
        self.pause().await;
        Ok(())
    }

    async fn left(&self, scope: &CacheScope<'_>) -> Result<StoreVerdict, BackendError> {
        self.obey(false).await?;
        self.inner.left(scope).await
    }
}

/// A realm with two tenants and caches over a [`Rig`].
pub(crate) struct World {
    pub(crate) tenants: TestTenants,
    pub(crate) rig: Arc<Rig>,
    pub(crate) caches: Caches,
}

impl World {
    pub(crate) async fn new() -> Self {
        // A busy machine must not make the cache stand aside.
        let settings = CacheSettings::new().patience(Duration::from_secs(10));
        Self::over(TestTenants::new().await, Arc::default(), settings)
    }

    pub(crate) fn over(tenants: TestTenants, rig: Arc<Rig>, settings: CacheSettings) -> Self {
        let caches = Caches::with_settings(tenants.realm(), Arc::clone(&rig), settings);
        Self { tenants, rig, caches }
    }

    pub(crate) async fn of(&self, tenant: &str) -> TenantCaches {
        self.caches.scoped(&self.tenants.context(tenant).await).unwrap()
    }

    pub(crate) async fn of_user(&self, tenant: &str, subject: &str, roles: &[&str]) -> TenantCaches {
        self.caches.scoped(&self.tenants.context_of(tenant, subject, roles).await).unwrap()
    }

    /// How many records there are of this outcome and action.
    pub(crate) async fn recorded(&self, outcome: tenancy_core::Outcome, action: &str) -> u64 {
        let log = self.tenants.audit().await;
        log.iter().filter(|r| r.outcome() == outcome && r.action() == action).map(|r| r.count()).sum()
    }
}

/// Polls at most so many times, then drops. `None` when it had not ended by then.
pub(crate) async fn dropped_after<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..polls {
        if let Poll::Ready(output) = futures_poll(future.as_mut()).await {
            return Some(output);
        }
        tokio::task::yield_now().await;
    }
    None
}

async fn futures_poll<F: Future>(mut future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
}

pub(crate) fn denied(error: &CacheError) -> tenancy_core::Denial {
    tenancy_core::Denial::of(error).unwrap_or_else(|| match error {
        CacheError::Denied(denial) => *denial,
        other => panic!("a denial, not {other:?}"),
    })
}
