//! Counts, for whatever system collects them. No label names a customer.

use std::fmt;

use crate::directory::ServiceClass;
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
    /// What a look came to into a store that may have nothing, a cache. As near to a customer as a label comes is the service
    /// class of whoever looked.
    Look {
        /// The store.
        store: StoreName,
        /// The part of it, by a fixed word: a layer.
        part: &'static str,
        /// What it came to, by a fixed word. The store's crate lists its words.
        outcome: &'static str,
        /// Who looked is one of this class.
        class: ServiceClass,
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
