//! Placements and notes in memory.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use uuid::Uuid;

use super::{Note, Notes, Placement, Tiers};
use crate::error::BackendError;
use crate::id::PointKey;
use crate::scope::{DropScope, VectorScope, WriteScope};

/// For tests, and for back ends that end with the process: what it knows goes with it. Clones share what they know: one for
/// each store.
///
/// After a restart every life is looked for in the shared back end. One that had been moved reads as empty there and is written
/// there. It can't be moved ([`VectorError::Misplaced`](crate::VectorError::Misplaced)) until each point that the other back end
/// has is in the shared one as well, with the same payload and vectors, or was taken out of the other by hand. With back ends
/// that outlive the process use `pgvector::PgTiers`.
#[derive(Clone, Default)]
pub struct MemoryTiers(Arc<Mutex<HashMap<String, Option<Life>>>>);

struct Life {
    placement: Placement,
    notes: HashMap<Uuid, Kept>,
}

struct Kept {
    note: Note,
    since: Instant,
    closed: bool,
}

impl MemoryTiers {
    /// Nobody was moved.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn lives(&self) -> MutexGuard<'_, HashMap<String, Option<Life>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of<T>(&self, scope: &VectorScope<'_>, act: impl FnOnce(&mut Life) -> T) -> Result<T, BackendError> {
        let first = || Some(Life { placement: Placement::FIRST, notes: HashMap::new() });
        let mut lives = self.lives();
        lives.entry(scope.partition().to_owned()).or_insert_with(first).as_mut().map(act).ok_or(BackendError::Dropped)
    }
}

#[async_trait]
impl Tiers for MemoryTiers {
    async fn placement(&self, scope: &VectorScope<'_>) -> Result<Placement, BackendError> {
        self.of(scope, |life| life.placement)
    }

    async fn replace(&self, scope: &WriteScope<'_>, from: Placement, to: Placement) -> Result<bool, BackendError> {
        self.of(scope, |life| {
            let still = life.placement == from;
            if still {
                life.placement = to;
                life.notes.retain(|_, _| to.is_moving());
            }
            still
        })
    }

    async fn note(&self, scope: &WriteScope<'_>, note: Note) -> Result<(), BackendError> {
        self.of(scope, |life| {
            life.notes.insert(note.id(), Kept { note, since: Instant::now(), closed: false });
        })
    }

    async fn close(&self, scope: &WriteScope<'_>, note: Uuid) -> Result<(), BackendError> {
        self.of(scope, |life| {
            if let Some(kept) = life.notes.get_mut(&note) {
                kept.closed = true;
            }
        })
    }

    async fn notes(&self, scope: &VectorScope<'_>, age: Duration) -> Result<Notes, BackendError> {
        self.of(scope, |life| {
            let (closed, open): (Vec<_>, Vec<_>) =
                life.notes.values().partition(|kept| kept.closed || kept.since.elapsed() > age);
            Notes { closed: closed.into_iter().map(|kept| kept.note.clone()).collect(), open: open.len() }
        })
    }

    async fn noted(&self, scope: &VectorScope<'_>, keys: &[PointKey]) -> Result<Vec<PointKey>, BackendError> {
        self.of(scope, |life| {
            let noted: HashSet<_> = life.notes.values().flat_map(|kept| &kept.note.keys).collect();
            keys.iter().filter(|key| noted.contains(key)).copied().collect()
        })
    }

    async fn forget(&self, scope: &WriteScope<'_>, notes: &[Uuid]) -> Result<(), BackendError> {
        self.of(scope, |life| life.notes.retain(|id, _| !notes.contains(id)))
    }

    async fn drop_life(&self, scope: &DropScope<'_>) -> Result<(), BackendError> {
        self.lives().insert(scope.partition().to_owned(), None);
        Ok(())
    }
}

impl fmt::Debug for MemoryTiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryTiers")
    }
}
