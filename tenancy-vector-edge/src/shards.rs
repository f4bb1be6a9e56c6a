//! Which shards are open, and how one is opened once, used by many and dropped safely.

use std::collections::HashMap;
use std::fs::File;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tenancy_vector::{BackendError, Schema};

use crate::files::{self, ShardFiles};
use crate::options::{EdgeError, EdgeOptions};
use crate::permits::{Permit, Permits};
use crate::shard::Shard;

/// The shards of one root directory. Every method blocks.
///
/// A partition has a slot. Calls hold its state for reading; opening, closing and dropping hold it for writing, so a
/// drop waits for the calls in it. A thread that waits for a permit holds no state, only the right to open its own
/// slot, so closing another one can't wait for it in turn.
#[derive(Debug)]
pub(crate) struct Shards {
    root: PathBuf,
    slots: Mutex<HashMap<String, Arc<Slot>>>,
    permits: Arc<Permits>,
    clock: AtomicU64,
    /// Held, not used: this process has the directory.
    _lock: File,
}

#[derive(Debug, Default)]
struct Slot {
    opening: Mutex<()>,
    state: RwLock<State>,
    used: AtomicU64,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Closed,
    Open(Box<Shard>, #[expect(dead_code, reason = "held as long as the shard is open")] Permit),
    /// Dropped for good. Kept for the life of the process: a writer that passed the fence before its tenant was erased
    /// must not make the directory again. A later process has no such writer.
    Dropped,
}

impl Shards {
    pub(crate) fn open(options: EdgeOptions) -> Result<Self, EdgeError> {
        let EdgeOptions { root, max_open_shards, max_calls: _ } = options;
        let lock = files::lock_root(&root)?;
        let permits = Permits::new(max_open_shards);
        Ok(Self { root, slots: Mutex::default(), permits, clock: AtomicU64::new(0), _lock: lock })
    }

    /// Works with a shard that is there. `None` where there is none.
    pub(crate) fn with<T>(
        &self,
        partition: &str,
        act: impl FnOnce(&Shard) -> Result<T, BackendError>,
    ) -> Result<Option<T>, BackendError> {
        self.enter(partition, None, act)
    }

    /// Works with a shard, making it where there is none.
    pub(crate) fn with_made<T>(
        &self,
        partition: &str,
        schema: Schema,
        act: impl FnOnce(&Shard) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        self.enter(partition, Some(schema), act)?.ok_or(BackendError::Dropped)
    }

    /// Drops a partition for good, after the calls in it.
    pub(crate) fn drop_partition(&self, partition: &str) -> Result<(), BackendError> {
        let slot = self.slot(partition);
        let _nobody_opens = lock(&slot.opening);
        let mut state = write(&slot.state);
        state.turn_into(State::Dropped);
        self.files(partition).remove().map_err(BackendError::failed)
    }

    /// Removes a partition in which there are no points, after the calls in it. It may be made again.
    pub(crate) fn vacate(
        &self,
        partition: &str,
        count: impl FnOnce(&Shard) -> Result<u64, BackendError>,
    ) -> Result<(), BackendError> {
        // Opened as for a call: what can't be opened stays.
        if self.with(partition, |_| Ok(()))?.is_none() {
            return Ok(());
        }
        let slot = self.slot(partition);
        let _nobody_opens = lock(&slot.opening);
        let mut state = write(&slot.state);
        let left = match &*state {
            State::Open(shard, _) => count(shard)?,
            // Closed again meanwhile, to make room: it stays until it is asked for once more.
            State::Closed => return Ok(()),
            State::Dropped => return Err(BackendError::Dropped),
        };
        if left > 0 {
            return Ok(());
        }
        state.turn_into(State::Closed);
        self.files(partition).remove().map_err(BackendError::failed)?;
        drop(state);
        self.forget(partition, &slot);
        Ok(())
    }

    /// Whether anything of a partition is on disk.
    pub(crate) fn remains(&self, partition: &str) -> Result<bool, BackendError> {
        self.files(partition).exists().map_err(BackendError::failed)
    }

    fn enter<T>(
        &self,
        partition: &str,
        make: Option<Schema>,
        act: impl FnOnce(&Shard) -> Result<T, BackendError>,
    ) -> Result<Option<T>, BackendError> {
        let slot = self.slot(partition);
        slot.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        let mut state = read(&slot.state);
        if matches!(*state, State::Closed) {
            drop(state);
            state = self.open_slot(&slot, partition, make)?;
        }
        match &*state {
            State::Open(shard, _) => act(shard).map(Some),
            State::Dropped => Err(BackendError::Dropped),
            State::Closed => {
                drop(state);
                self.forget(partition, &slot);
                Ok(None)
            }
        }
    }

    /// Opens a slot and keeps hold of it, so that it can't be closed again before it was used. It stays closed where
    /// there is no shard and none is to be made.
    fn open_slot<'s>(
        &self,
        slot: &'s Slot,
        partition: &str,
        make: Option<Schema>,
    ) -> Result<RwLockReadGuard<'s, State>, BackendError> {
        let _one = lock(&slot.opening);
        let state = read(&slot.state);
        if !matches!(*state, State::Closed) {
            return Ok(state);
        }
        let files = self.files(partition);
        let made_for = files.manifest().map_err(BackendError::failed)?;
        if made_for.is_none() && make.is_none() {
            return Ok(state);
        }
        drop(state);
        let permit = self.permit();
        let shard = match (made_for, make) {
            (Some(schema), _) => Shard::load(&files, schema)?,
            (None, Some(schema)) => Shard::make(&files, schema)?,
            (None, None) => return Ok(read(&slot.state)),
        };
        let mut state = write(&slot.state);
        *state = State::Open(Box::new(shard), permit);
        Ok(RwLockWriteGuard::downgrade(state))
    }

    fn permit(&self) -> Permit {
        loop {
            if let Some(permit) = self.permits.try_take() {
                return permit;
            }
            if !self.close_idlest() {
                self.permits.wait();
            }
        }
    }

    /// Closes the open shard that was not used for the longest time, after the calls in it.
    fn close_idlest(&self) -> bool {
        let idlest = {
            let slots = lock(&self.slots);
            let open =
                slots.iter().filter(|(_, slot)| slot.state.try_read().is_ok_and(|s| matches!(*s, State::Open(..))));
            open.min_by_key(|(_, slot)| slot.used.load(Ordering::Relaxed))
                .map(|(name, slot)| (name.clone(), Arc::clone(slot)))
        };
        let Some((partition, slot)) = idlest else { return false };
        {
            let mut state = write(&slot.state);
            if !matches!(*state, State::Open(..)) {
                return false;
            }
            state.turn_into(State::Closed);
        }
        self.forget(&partition, &slot);
        true
    }

    /// Takes a closed slot off the table when nobody else holds it. Slots of absent partitions would pile up.
    fn forget(&self, partition: &str, slot: &Arc<Slot>) {
        let mut slots = lock(&self.slots);
        // One in the table, one in the caller's hands; new ones are handed out under this lock.
        if Arc::strong_count(slot) == 2 && matches!(*read(&slot.state), State::Closed) {
            slots.remove(partition);
        }
    }

    fn slot(&self, partition: &str) -> Arc<Slot> {
        let mut slots = lock(&self.slots);
        if let Some(slot) = slots.get(partition) {
            return Arc::clone(slot);
        }
        Arc::clone(slots.entry(partition.to_owned()).or_default())
    }

    fn files(&self, partition: &str) -> ShardFiles {
        ShardFiles::new(&self.root, partition)
    }
}

impl State {
    /// Changes the state, closing the shard that was open.
    ///
    /// The engine flushes a shard when it is dropped, and panics when it can't, when its directory is gone for instance.
    /// Every write was flushed before it was acknowledged, so there is nothing to lose.
    fn turn_into(&mut self, next: Self) {
        let last = mem::replace(self, next);
        let _flushed = catch_unwind(AssertUnwindSafe(|| drop(last)));
    }
}

impl Drop for Shards {
    fn drop(&mut self) {
        for slot in lock(&self.slots).values() {
            write(&slot.state).turn_into(State::Closed);
        }
    }
}

// A panic of the engine leaves these as they were: each is changed by one assignment, after the work.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
