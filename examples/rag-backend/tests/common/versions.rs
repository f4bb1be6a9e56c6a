//! Corpus versions that can't be had when a test says so: every write to the index fails then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use tenancy_stack::core::{CorpusError, CorpusScope, CorpusVersion, CorpusVersions, MemoryCorpusVersions, WriteId};

/// Clones share the switch.
#[derive(Clone)]
pub(crate) struct FaultyVersions {
    inner: Arc<MemoryCorpusVersions>,
    down: Arc<AtomicBool>,
}

impl FaultyVersions {
    pub(crate) fn new() -> Self {
        Self { inner: Arc::new(MemoryCorpusVersions::new()), down: Arc::default() }
    }

    pub(crate) fn set_down(&self, down: bool) {
        self.down.store(down, Ordering::SeqCst);
    }
}

#[async_trait]
impl CorpusVersions for FaultyVersions {
    async fn current(&self, scope: CorpusScope<'_>) -> Result<Option<CorpusVersion>, CorpusError> {
        self.inner.current(scope).await
    }

    async fn begin(&self, scope: CorpusScope<'_>, write: WriteId) -> Result<(), CorpusError> {
        if self.down.load(Ordering::SeqCst) {
            return Err(CorpusError::new("down"));
        }
        self.inner.begin(scope, write).await
    }

    async fn settle(&self, scope: CorpusScope<'_>, write: WriteId) -> Result<CorpusVersion, CorpusError> {
        self.inner.settle(scope, write).await
    }
}
