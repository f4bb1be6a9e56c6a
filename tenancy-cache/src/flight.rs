//! One computation at a time for one key.
//!
//! Callers take turns on a fair lock. Who gets its turn and finds an outcome takes it; who finds none computes. A caller
//! whose future is dropped, or whose computation fails, gives up its turn by that alone, and the next one takes over.
//! Errors are never handed on.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenancy_core::Scoped;

use crate::envelope::Plain;
use crate::key::CacheKey;

/// The computations of one life that are under way.
#[derive(Default)]
pub(crate) struct Flights {
    by_key: Mutex<HashMap<CacheKey, Arc<Flight>>>,
}

/// One computation and those who wait for it.
#[derive(Default)]
pub(crate) struct Flight {
    pub(crate) turn: tokio::sync::Mutex<Option<Landed>>,
}

/// What came of it: the value, and the generation in which the computation began. Those who asked in a later one
/// asked after an invalidation.
pub(crate) struct Landed {
    pub(crate) generation: u64,
    pub(crate) plain: Scoped<Plain>,
}

/// A caller's seat. The last to leave takes the flight out of the map.
pub(crate) struct Seat<'f> {
    flights: &'f Flights,
    key: CacheKey,
    pub(crate) flight: Arc<Flight>,
}

impl Flights {
    pub(crate) fn join(&self, key: CacheKey) -> Seat<'_> {
        let flight = Arc::clone(self.lock().entry(key).or_default());
        Seat { flights: self, key, flight }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CacheKey, Arc<Flight>>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }
}

impl Seat<'_> {
    /// Nobody joins this flight any more: the store has the value now.
    pub(crate) fn close(&self) {
        self.take_out(|_| true);
    }

    fn take_out(&self, when: impl FnOnce(&Arc<Flight>) -> bool) {
        let mut flights = self.flights.lock();
        if let Entry::Occupied(entry) = flights.entry(self.key)
            && Arc::ptr_eq(entry.get(), &self.flight)
            && when(entry.get())
        {
            entry.remove();
        }
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        // The map's own and this one: nobody else is there.
        self.take_out(|flight| Arc::strong_count(flight) == 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::Layer;

    #[tokio::test]
    async fn a_flight_is_gone_when_its_last_seat_is() {
        let tenants = tenancy_testkit::TestTenants::new().await;
        let digest = tenants.context("acme").await.derive(&tenancy_core::Fields::new()).unwrap();
        let key = CacheKey::new(Layer::Response, digest, crate::Epoch::random());
        let flights = Flights::default();
        let first = flights.join(key);
        let second = flights.join(key);
        assert!(Arc::ptr_eq(&first.flight, &second.flight), "one key, one flight");
        drop(first);
        assert_eq!(flights.len(), 1);
        drop(second);
        assert_eq!(flights.len(), 0);

        let closed = flights.join(key);
        closed.close();
        let newcomer = flights.join(key);
        assert!(!Arc::ptr_eq(&closed.flight, &newcomer.flight));
        drop(closed);
        assert_eq!(flights.len(), 1, "a closed flight does not take its successor along");
    }
}
