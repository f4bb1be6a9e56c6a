//! Bounds of a call.

use std::time::Duration;

use tenancy_core::BreakerSettings;

/// Bounds of a call, each with a default.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    pub(crate) time: Duration,
    pub(crate) argument_bytes: usize,
    pub(crate) output_bytes: usize,
    pub(crate) calls: usize,
    pub(crate) breaker: BreakerSettings,
}

impl Limits {
    /// How long a call may take, waiting included. Default 30 s; never longer than the context lives.
    #[must_use]
    pub const fn time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// How many bytes of arguments are read. Default 256 KiB.
    #[must_use]
    pub const fn argument_bytes(mut self, bytes: usize) -> Self {
        self.argument_bytes = bytes;
        self
    }

    /// How many bytes a tool may answer. Default 1 MiB.
    #[must_use]
    pub const fn output_bytes(mut self, bytes: usize) -> Self {
        self.output_bytes = bytes;
        self
    }

    /// How many calls of one tenant run at a time. Default 8; at least 1.
    #[must_use]
    pub const fn calls(mut self, calls: usize) -> Self {
        self.calls = if calls == 0 { 1 } else { calls };
        self
    }

    /// When the breaker of a tenant and tool opens.
    #[must_use]
    pub const fn breaker(mut self, settings: BreakerSettings) -> Self {
        self.breaker = settings;
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(30),
            argument_bytes: 256 * 1024,
            output_bytes: 1024 * 1024,
            calls: 8,
            breaker: BreakerSettings::default(),
        }
    }
}
