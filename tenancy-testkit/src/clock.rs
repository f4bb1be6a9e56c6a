//! A clock that moves when a test says so.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tenancy_core::Clock;

/// A clock that stands still until [`advance`](Self::advance) moves it. Put it into a realm with
/// [`TestTenantsBuilder::clock`](crate::TestTenantsBuilder::clock).
#[derive(Debug)]
pub struct ManualClock {
    now: Mutex<(SystemTime, Duration)>,
}

impl ManualClock {
    /// A clock that shows the present.
    #[must_use]
    pub fn new() -> Self {
        Self { now: Mutex::new((SystemTime::now(), Duration::from_secs(1000))) }
    }

    /// Moves both sides forward.
    pub fn advance(&self, by: Duration) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        now.0 += by;
        now.1 += by;
    }

    /// Steps the wall clock alone, as an operator or a time server would.
    pub fn step_wall(&self, to: SystemTime) {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).0 = to;
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> SystemTime {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    fn monotonic(&self) -> Duration {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}
