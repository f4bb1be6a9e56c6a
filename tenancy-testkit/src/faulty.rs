//! A directory that is slow, fails, or lies, when a test says so.

use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tenancy_core::{
    ApiKeyLookup, ApiKeyRecord, DirectoryError, Lookup, StaticDirectory, TenantDirectory, TenantRecord,
};

/// Wraps a [`StaticDirectory`]; clones share the fault.
#[derive(Clone)]
pub struct FaultyDirectory {
    inner: StaticDirectory,
    shared: Arc<Shared>,
}

struct Shared {
    fault: AtomicU8,
    asked: AtomicU64,
    lie: Mutex<Option<TenantRecord>>,
}

/// How a [`FaultyDirectory`] behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum Fault {
    /// As it should.
    None = 0,
    /// It gives way to other tasks three times before it answers.
    Slow = 1,
    /// It answers with an error.
    Error = 2,
    /// It never answers.
    Hang = 3,
    /// It answers every question with the record of [`FaultyDirectory::lie`].
    Lie = 4,
}

impl FaultyDirectory {
    /// Wraps a directory that works.
    #[must_use]
    pub fn new(inner: StaticDirectory) -> Self {
        let shared = Shared { fault: AtomicU8::new(0), asked: AtomicU64::new(0), lie: Mutex::default() };
        Self { inner, shared: Arc::new(shared) }
    }

    /// Sets how it behaves from now on.
    pub fn set(&self, fault: Fault) {
        self.shared.fault.store(fault as u8, Ordering::SeqCst);
    }

    /// Answers every question with this record from now on.
    pub fn lie(&self, record: TenantRecord) {
        *self.shared.lie.lock().unwrap_or_else(PoisonError::into_inner) = Some(record);
        self.set(Fault::Lie);
    }

    /// How many questions it was asked.
    #[must_use]
    pub fn asked(&self) -> u64 {
        self.shared.asked.load(Ordering::SeqCst)
    }

    async fn suffer(&self) -> Result<(), DirectoryError> {
        self.shared.asked.fetch_add(1, Ordering::SeqCst);
        match self.shared.fault.load(Ordering::SeqCst) {
            1 => {
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
            }
            2 => return Err(DirectoryError::new("the directory is down: acme globex secret-dsn")),
            3 => std::future::pending().await,
            _ => {}
        }
        Ok(())
    }
}

#[async_trait]
impl TenantDirectory for FaultyDirectory {
    async fn find(&self, lookup: Lookup<'_>) -> Result<Option<TenantRecord>, DirectoryError> {
        self.suffer().await?;
        if self.shared.fault.load(Ordering::SeqCst) == Fault::Lie as u8 {
            return Ok(self.shared.lie.lock().unwrap_or_else(PoisonError::into_inner).clone());
        }
        self.inner.find(lookup).await
    }

    async fn api_key(&self, lookup: ApiKeyLookup<'_>) -> Result<Option<ApiKeyRecord>, DirectoryError> {
        self.suffer().await?;
        self.inner.api_key(lookup).await
    }
}

impl fmt::Debug for FaultyDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FaultyDirectory")
    }
}
