//! How many calls a tenant has running.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tenancy_core::Life;
use tokio::sync::Semaphore;

/// One semaphore per life, kept while a handle of the life or a running call holds it.
#[derive(Debug)]
pub(crate) struct Lanes {
    width: usize,
    lanes: Mutex<HashMap<Life, Weak<Semaphore>>>,
}

impl Lanes {
    pub(crate) fn new(width: usize) -> Self {
        Self { width, lanes: Mutex::default() }
    }

    pub(crate) fn of(&self, life: Life) -> Arc<Semaphore> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = lanes.get(&life).and_then(Weak::upgrade) {
            return lane;
        }
        lanes.retain(|_, lane| lane.strong_count() > 0);
        let lane = Arc::new(Semaphore::new(self.width));
        lanes.insert(life, Arc::downgrade(&lane));
        lane
    }
}
