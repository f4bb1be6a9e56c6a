//! Counters. They name layers, never tenants, keys or digests.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::layer::Layer;

/// What a cache has counted since it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheStats {
    layers: [LayerStats; Layer::ALL.len()],
}

impl CacheStats {
    /// The counts of one layer.
    #[must_use]
    pub const fn of(&self, layer: Layer) -> LayerStats {
        self.layers[layer.index()]
    }
}

/// The counts of one layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LayerStats {
    /// Values found.
    pub hits: u64,
    /// Values not found, those that did not open among them.
    pub misses: u64,
    /// Times the cache stood aside.
    pub bypasses: u64,
    /// Values that did not open. More than zero means that a back end mixed entries up or that somebody altered them.
    pub integrity_misses: u64,
}

/// What is counted of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Hit,
    Miss,
    Bypass,
    IntegrityMiss,
}

impl Outcome {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Bypass => "bypass",
            Self::IntegrityMiss => "integrity_miss",
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    layers: [LayerCounters; Layer::ALL.len()],
}

#[derive(Debug, Default)]
struct LayerCounters {
    hits: Counter,
    misses: Counter,
    bypasses: Counter,
    integrity_misses: Counter,
}

#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl Counter {
    fn count(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    fn read(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Counters {
    pub(crate) fn count(&self, layer: Layer, outcome: Outcome) {
        let LayerCounters { hits, misses, bypasses, integrity_misses } = self.of(layer);
        match outcome {
            Outcome::Hit => hits.count(),
            Outcome::Miss => misses.count(),
            Outcome::Bypass => bypasses.count(),
            Outcome::IntegrityMiss => integrity_misses.count(),
        }
    }

    const fn of(&self, layer: Layer) -> &LayerCounters {
        &self.layers[layer.index()]
    }

    pub(crate) fn read(&self) -> CacheStats {
        CacheStats {
            layers: Layer::ALL.map(|layer| {
                let LayerCounters { hits, misses, bypasses, integrity_misses } = self.of(layer);
                LayerStats {
                    hits: hits.read(),
                    misses: misses.read(),
                    bypasses: bypasses.read(),
                    integrity_misses: integrity_misses.read(),
                }
            }),
        }
    }
}
