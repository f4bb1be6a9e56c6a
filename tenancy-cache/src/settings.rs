//! Bounds of a cache.

use std::time::Duration;

use crate::layer::Layer;

/// Bounds of a cache, each with a default.
#[derive(Clone, Debug)]
pub struct CacheSettings {
    layers: [LayerLimits; Layer::ALL.len()],
    patience: Duration,
}

/// Bounds of one layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LayerLimits {
    /// How long an entry lives at most.
    pub(crate) ttl: Duration,
    /// How large a sealed value may be, in bytes.
    pub(crate) size: usize,
}

impl CacheSettings {
    /// The defaults: responses and answers by meaning one hour, hits ten minutes, vectors a week, tool results one
    /// minute; 1 MiB a value; 250 ms of patience with the back end.
    #[must_use]
    pub fn new() -> Self {
        Self { layers: Layer::ALL.map(default_limits), patience: Duration::from_millis(250) }
    }

    /// How long entries of a layer live at most; a year at the utmost.
    #[must_use]
    pub fn ttl(mut self, layer: Layer, ttl: Duration) -> Self {
        self.layers[layer.index()].ttl = ttl.min(HOUR * 24 * 365);
        self
    }

    /// How large a sealed value of a layer may be, in bytes. Larger ones are not kept.
    #[must_use]
    pub fn max_bytes(mut self, layer: Layer, bytes: usize) -> Self {
        self.layers[layer.index()].size = bytes;
        self
    }

    /// How long a call waits for the back end, or for the corpus version, until the cache stands aside.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    pub(crate) const fn of(&self, layer: Layer) -> LayerLimits {
        self.layers[layer.index()]
    }

    pub(crate) const fn wait(&self) -> Duration {
        self.patience
    }
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self::new()
    }
}

fn default_limits(layer: Layer) -> LayerLimits {
    let ttl = match layer {
        Layer::Response | Layer::Semantic => HOUR,
        Layer::Retrieval => HOUR / 6,
        Layer::Embedding => HOUR * 24 * 7,
        Layer::Tool | Layer::Engine => HOUR / 60,
    };
    LayerLimits { ttl, size: 1 << 20 }
}

const HOUR: Duration = Duration::from_secs(3600);
