//! What failed too often is not asked for a while.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Breakers by name. One that is closed and has not failed takes no memory.
pub(super) struct Breakers {
    failures: u32,
    open_for: Duration,
    states: Mutex<HashMap<String, State>>,
}

#[derive(Clone, Copy)]
enum State {
    Closed {
        failures: u32,
    },
    Open {
        until: Instant,
    },
    /// One call is trying. If it is never heard of again, another may try from then on.
    Trying {
        until: Instant,
    },
}

impl Breakers {
    pub(super) fn new(failures: u32, open_for: Duration) -> Self {
        Self { failures, open_for, states: Mutex::default() }
    }

    /// Whether it may be asked. A breaker whose time is over lets one call try.
    pub(super) fn admits(&self, name: &str) -> bool {
        let mut states = self.states();
        let Some(state) = states.get_mut(name) else { return true };
        let now = Instant::now();
        match state {
            State::Closed { .. } => true,
            State::Open { until } | State::Trying { until } if now < *until => false,
            State::Open { .. } | State::Trying { .. } => {
                *state = State::Trying { until: now + self.open_for };
                true
            }
        }
    }

    pub(super) fn worked(&self, name: &str) {
        let mut states = self.states();
        match states.get(name) {
            // A call that began before it opened says nothing about now.
            None | Some(State::Open { .. }) => {}
            Some(State::Closed { .. } | State::Trying { .. }) => drop(states.remove(name)),
        }
    }

    pub(super) fn failed(&self, name: &str) {
        let mut states = self.states();
        let failures = match states.get(name) {
            None => 1,
            Some(State::Closed { failures }) => failures + 1,
            Some(State::Trying { .. }) => self.failures,
            Some(State::Open { .. }) => return,
        };
        let next = if failures >= self.failures {
            State::Open { until: Instant::now() + self.open_for }
        } else {
            State::Closed { failures }
        };
        states.insert(name.to_owned(), next);
    }

    fn states(&self) -> MutexGuard<'_, HashMap<String, State>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_opens_after_failures_in_a_row_and_lets_one_try() {
        let breakers = Breakers::new(3, Duration::from_secs(10));
        breakers.failed("a");
        breakers.failed("a");
        breakers.worked("a");
        for _ in 0..3 {
            assert!(breakers.admits("a"), "not in a row");
            breakers.failed("a");
        }
        assert!(!breakers.admits("a"));
        assert!(breakers.admits("b"), "another's is its own");
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(breakers.admits("a"));
        assert!(!breakers.admits("a"), "one tries at a time");
        breakers.failed("a");
        assert!(!breakers.admits("a"), "one failure of the trial opens it again");
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(breakers.admits("a"));
        breakers.worked("a");
        assert!(breakers.admits("a") && breakers.admits("a"));
        assert!(breakers.states().is_empty());
    }
}
