//! Counts, for whatever system collects them. No label names a customer.

use std::fmt;

use crate::id::StoreName;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Metric {
    /// A denial, by its rule.
    Denied {
        /// The stable rule.
        rule: &'static str,
    },
    /// Something that happened to the client of a store, and that whoever runs the service watches.
    Event {
        /// The store.
        store: StoreName,
        /// What happened, by a fixed word. The store's crate lists its words.
        event: &'static str,
    },
}

/// Takes counts. Called on request paths: must not block.
pub trait Recorder: Send + Sync + 'static {
    /// Counts one.
    fn count(&self, metric: Metric);
}

/// Counts nothing.
#[derive(Clone, Copy, Default)]
pub(crate) struct NoMetrics;

impl Recorder for NoMetrics {
    fn count(&self, _: Metric) {}
}

impl fmt::Debug for NoMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NoMetrics")
    }
}
