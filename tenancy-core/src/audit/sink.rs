//! Where records go: the trait, its errors, and a sink in memory.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use super::reader::concerns;
use super::record::AuditRecord;
use crate::id::Life;
use crate::redacted::{BoxError, Redacted};

/// Where records go.
///
/// Called on the audit writer's own thread, one call at a time, and may block. A batch that failed is handed in again,
/// unchanged, until it is taken; nothing else is written before it. A sink that can't tell whether a failed batch
/// arrived must recognise records it has by ([`writer`](AuditRecord::writer), [`boot`](AuditRecord::boot),
/// [`sequence`](AuditRecord::sequence)).
///
/// A sink that panics is dead: every check is refused from then on.
pub trait AuditSink: Send + Sync + 'static {
    /// Writes the batch. It is durable, all of it, when this returns `Ok`.
    ///
    /// # Errors
    /// [`AuditError`] when it is not; then no part of it may be seen by [`list`](Self::list).
    fn append(&self, batch: &AuditBatch<'_>) -> Result<(), AuditError>;

    /// What was cut off when the sink was opened. Asked once, at the start; it becomes the first record.
    fn recovered(&self) -> Option<Recovered> {
        None
    }

    /// The records that a tenant may see, oldest first: those about its life, and operators' acts that reach everyone.
    /// May be called from any thread, at the same time as [`append`](Self::append).
    ///
    /// # Errors
    /// [`AuditError`] when the list would not be complete.
    fn list(&self, life: Life) -> Result<Vec<AuditRecord>, AuditError>;
}

/// Records to be written together. Only core makes one.
pub struct AuditBatch<'a> {
    records: &'a [AuditRecord],
}

impl<'a> AuditBatch<'a> {
    pub(super) const fn new(records: &'a [AuditRecord]) -> Self {
        Self { records }
    }

    /// The records, in the order of their chains. Never empty.
    #[must_use]
    pub const fn records(&self) -> &'a [AuditRecord] {
        self.records
    }
}

impl fmt::Debug for AuditBatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AuditBatch({} records)", self.records.len())
    }
}

/// A torn tail that was cut off: what a crash left of a batch that nobody was told is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// How many bytes were cut off.
    pub bytes: u64,
}

impl Recovered {
    /// A torn tail of this many bytes.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self { bytes }
    }
}

/// Why the log can't be opened, written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// Another writer holds the log.
    #[error("another writer holds the audit log")]
    Locked,
    /// The file holds something else; nothing was cut off it.
    #[error("the file is not an audit log")]
    NotALog,
    /// The log got shorter while it was open. Somebody truncated it.
    #[error("the audit log was shortened by somebody else")]
    Shortened,
    /// A text that is not a record as we write it.
    #[error("not a well-formed audit record")]
    Malformed,
    /// A record whose content does not match its hash.
    #[error("an audit record was altered")]
    Altered,
    /// The system refused.
    #[error("the audit log can't be used: {kind}")]
    Io {
        /// What kind of refusal.
        kind: io::ErrorKind,
        /// The error itself, which may name paths.
        source: Redacted<io::Error>,
    },
    /// A sink's own error.
    #[error("the audit sink failed")]
    Sink(#[source] Redacted<BoxError>),
}

impl AuditError {
    /// An error of a sink's own, its text withheld.
    pub fn sink(error: impl Into<BoxError>) -> Self {
        Self::Sink(Redacted::new(error.into()))
    }
}

impl From<io::Error> for AuditError {
    fn from(error: io::Error) -> Self {
        Self::Io { kind: error.kind(), source: Redacted::new(error) }
    }
}

/// Keeps records in memory, for tests. Clones share them.
#[derive(Clone, Default)]
pub struct MemorySink {
    records: Arc<Mutex<Vec<AuditRecord>>>,
}

impl MemorySink {
    /// An empty sink.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything written so far.
    #[must_use]
    pub fn records(&self) -> Vec<AuditRecord> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl AuditSink for MemorySink {
    fn append(&self, batch: &AuditBatch<'_>) -> Result<(), AuditError> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(batch.records());
        Ok(())
    }

    fn list(&self, life: Life) -> Result<Vec<AuditRecord>, AuditError> {
        Ok(self.records().into_iter().filter(|record| concerns(record, life)).collect())
    }
}

impl fmt::Debug for MemorySink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemorySink({} records)", self.records.lock().unwrap_or_else(PoisonError::into_inner).len())
    }
}
