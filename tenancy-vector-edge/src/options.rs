//! Where the shards are, how many may be open, and how many calls under way.

use std::io;
use std::path::PathBuf;

use tenancy_core::Redacted;

/// Settings of an [`EdgeBackend`](crate::EdgeBackend).
#[derive(Clone, Debug)]
pub struct EdgeOptions {
    pub(crate) root: PathBuf,
    pub(crate) max_open_shards: usize,
    pub(crate) max_calls: usize,
}

impl EdgeOptions {
    /// Shards under a directory of this process alone, which is made with mode 0700 when it is not there.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), max_open_shards: DEFAULT_OPEN, max_calls: DEFAULT_CALLS }
    }

    /// Sets how many shards are open at most; at least 1, 64 unless set. Beyond it the one that was not used for the
    /// longest time is closed first, after the calls in it.
    #[must_use]
    pub fn max_open_shards(mut self, shards: usize) -> Self {
        self.max_open_shards = shards.max(1);
        self
    }

    /// Sets how many calls are under way at most, each on one of Tokio's threads for blocking work; at least 1, 64 unless
    /// set. A life has no more of them than are free: at most half, and one is left for whoever comes next. See
    /// [`Turns`](tenancy_vector::turns::Turns).
    #[must_use]
    pub fn max_calls(mut self, calls: usize) -> Self {
        self.max_calls = calls.max(1);
        self
    }
}

/// Why a root directory can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EdgeError {
    /// Another back end, in this process or another, has it.
    #[error("the directory is in use by another back end")]
    Locked,
    /// The system refused.
    #[error("the directory can't be used: {kind}")]
    Io {
        /// What kind of refusal.
        kind: io::ErrorKind,
        /// The error itself, which may name paths.
        source: Redacted<io::Error>,
    },
}

impl From<io::Error> for EdgeError {
    fn from(error: io::Error) -> Self {
        Self::Io { kind: error.kind(), source: Redacted::new(error) }
    }
}

const DEFAULT_OPEN: usize = 64;
const DEFAULT_CALLS: usize = 64;
