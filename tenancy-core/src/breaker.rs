//! A circuit breaker per tenant and target: one tenant's failing tool opens that tenant's breaker and nobody else's.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::denial::Denial;
use crate::gate::Pass;
use crate::id::Life;

/// The breakers of one kind of target.
#[derive(Clone)]
pub struct Breakers {
    shared: Arc<Shared>,
}

struct Shared {
    settings: BreakerSettings,
    states: Mutex<HashMap<(Life, Box<str>), State>>,
}

/// When a breaker opens and for how long.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BreakerSettings {
    /// Failures in a row that open it. Default 5.
    pub failures: u32,
    /// How long it stays open before one call may try. Default 10 s.
    pub open_for: Duration,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self { failures: 5, open_for: Duration::from_secs(10) }
    }
}

#[derive(Clone, Copy)]
enum State {
    Closed {
        failures: u32,
    },
    Open {
        until: Duration,
    },
    /// One call is trying.
    HalfOpen {
        until: Duration,
    },
}

/// Leave to call a target once. Dropped without a verdict it counts as neither.
#[must_use = "tell the breaker what became of the call"]
pub struct BreakerPermit {
    shared: Arc<Shared>,
    key: (Life, Box<str>),
    trial: bool,
    pass: Pass,
}

impl Breakers {
    /// Breakers with these settings.
    #[must_use]
    pub fn new(settings: BreakerSettings) -> Self {
        Self { shared: Arc::new(Shared { settings, states: Mutex::default() }) }
    }

    /// Asks for leave to call a target for the tenant of a pass.
    ///
    /// # Errors
    /// [`Denial::BreakerOpen`], recorded.
    pub fn permit(&self, pass: &Pass, target: &str) -> Result<BreakerPermit, Denial> {
        let now = monotonic(pass);
        let key = (pass.context().life(), Box::from(target));
        let mut states = self.shared.states.lock().unwrap_or_else(PoisonError::into_inner);
        let trial = match states.get(&key) {
            None | Some(State::Closed { .. }) => false,
            Some(State::Open { until } | State::HalfOpen { until }) if now < *until => {
                drop(states);
                return Err(pass.refuse("breaker", Denial::BreakerOpen));
            }
            Some(_) => {
                // A trial that is never heard of again lets another one try after the same time.
                states.insert(key.clone(), State::HalfOpen { until: now + self.shared.settings.open_for });
                true
            }
        };
        drop(states);
        Ok(BreakerPermit { shared: Arc::clone(&self.shared), key, trial, pass: pass.clone() })
    }
}

impl BreakerPermit {
    /// The call went well: the breaker closes.
    pub fn success(self) {
        let mut states = self.shared.states.lock().unwrap_or_else(PoisonError::into_inner);
        // A call that began before the breaker opened says nothing about the target now.
        if self.trial || matches!(states.get(&self.key), Some(State::Closed { .. })) {
            states.remove(&self.key);
        }
    }

    /// The call failed.
    pub fn failure(self) {
        let Shared { settings, states } = &*self.shared;
        let mut states = states.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = match states.get(&self.key) {
            None => 1,
            Some(State::Closed { failures }) => failures + 1,
            Some(State::Open { .. } | State::HalfOpen { .. }) if self.trial => settings.failures,
            // It is open already; a late failure of an earlier call neither closes it nor keeps it open longer.
            Some(State::Open { .. } | State::HalfOpen { .. }) => return,
        };
        let next = if failures >= settings.failures {
            State::Open { until: monotonic(&self.pass) + settings.open_for }
        } else {
            State::Closed { failures }
        };
        states.insert(self.key.clone(), next);
    }
}

fn monotonic(pass: &Pass) -> Duration {
    pass.context().inner().realm.clock.monotonic()
}

impl fmt::Debug for Breakers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Breakers").field("settings", &self.shared.settings).finish_non_exhaustive()
    }
}

impl fmt::Debug for BreakerPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BreakerPermit").field("trial", &self.trial).finish_non_exhaustive()
    }
}
