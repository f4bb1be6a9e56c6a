//! Which lives this process is writing for, and which it dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::error::BackendError;

/// A slot a life that was written for or dropped, some 200 bytes each.
#[derive(Default)]
pub(super) struct Partitions {
    slots: Mutex<HashMap<String, Arc<Slot>>>,
}

/// A drop waits for the writes, and no write begins after it.
#[derive(Default)]
pub(super) struct Slot {
    state: RwLock<State>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    /// Nobody looked.
    #[default]
    Unknown,
    /// It was made, or was there.
    There,
    Dropped,
}

impl Partitions {
    pub(super) fn slot(&self, partition: &str) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        match slots.get(partition) {
            Some(slot) => Arc::clone(slot),
            None => Arc::clone(slots.entry(partition.to_owned()).or_default()),
        }
    }
}

impl Slot {
    /// Holds the partition for a write. One that nobody looked at is made by `make` first, by one writer.
    pub(super) async fn write<F>(&self, make: impl Fn() -> F) -> Result<RwLockReadGuard<'_, State>, BackendError>
    where
        F: Future<Output = Result<(), BackendError>>,
    {
        let held = self.state.read().await;
        match *held {
            State::There => return Ok(held),
            State::Dropped => return Err(BackendError::Dropped),
            State::Unknown => drop(held),
        }
        let mut alone = self.state.write().await;
        match *alone {
            State::There => {}
            State::Dropped => return Err(BackendError::Dropped),
            State::Unknown => {
                make().await?;
                *alone = State::There;
            }
        }
        Ok(alone.downgrade())
    }

    /// Waits for the writes, and has the next one look whether the partition is there: it may be removed meanwhile.
    pub(super) async fn look_again(&self) -> Result<RwLockWriteGuard<'_, State>, BackendError> {
        let mut alone = self.state.write().await;
        match *alone {
            State::Dropped => Err(BackendError::Dropped),
            State::There | State::Unknown => {
                *alone = State::Unknown;
                Ok(alone)
            }
        }
    }

    /// Waits for the writes and lets no other begin, for good.
    pub(super) async fn drop_for_good(&self) -> RwLockWriteGuard<'_, State> {
        let mut alone = self.state.write().await;
        *alone = State::Dropped;
        alone
    }
}
