//! Time: a wall clock for what is written down, a monotonic one for what must not move backwards.

use std::fmt;
use std::time::{Duration, Instant, SystemTime};

/// Where a realm takes its time from. Only tests and simulators replace it, through
/// [`danger::with_clock`](crate::danger::with_clock).
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// Wall time, compared with the times in credentials and written to the audit log.
    fn now(&self) -> SystemTime;

    /// Time since some fixed point of this process. Never steps back; deadlines and the fence are measured on it, so
    /// that a stepped wall clock neither revives nor ends a context.
    fn monotonic(&self) -> Duration;
}

/// The machine's clocks.
#[derive(Debug)]
pub struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    /// A clock whose monotonic side starts now.
    #[must_use]
    pub fn new() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn monotonic(&self) -> Duration {
        self.origin.elapsed()
    }
}

/// Seconds since 1970, saturating at zero for earlier times.
pub(crate) fn unix_seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs())
}
