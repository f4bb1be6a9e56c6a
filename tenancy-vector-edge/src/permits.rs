//! How many shards may be open.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A number of places.
#[derive(Debug)]
pub(crate) struct Permits {
    free: Mutex<usize>,
    freed: Condvar,
}

/// A place, free again when dropped.
#[derive(Debug)]
pub(crate) struct Permit(Arc<Permits>);

impl Permits {
    pub(crate) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self { free: Mutex::new(places), freed: Condvar::new() })
    }

    pub(crate) fn try_take(self: &Arc<Self>) -> Option<Permit> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        *free = free.checked_sub(1)?;
        Some(Permit(Arc::clone(self)))
    }

    /// Waits until a place is free, or a moment: what could be closed by then may be another shard.
    pub(crate) fn wait(&self) {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let _guard = self.freed.wait_timeout_while(free, MOMENT, |free| *free == 0);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

const MOMENT: Duration = Duration::from_millis(20);
