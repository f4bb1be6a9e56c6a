//! How far a run is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How far a run of the prober is, for whoever waits for it. Clones show the same run.
///
/// How many attempts there will be nobody knows before: each finds where the next could be made.
#[derive(Clone, Debug, Default)]
pub struct ProbeProgress(Arc<AtomicU64>);

impl ProbeProgress {
    /// How many statements were tried so far.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn begin(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    pub(super) fn attempt(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
