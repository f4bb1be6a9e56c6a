//! The fence: an answer about a tenant's standing, with an expiry.
//!
//! A context is handed out once and used for minutes, in another task or process perhaps. Suspending or erasing its
//! tenant must stop it. Every use therefore asks the fence, whose answer is never older than a stated bound: it is
//! renewed in its second half, and when nothing can be heard it lapses by itself and everything stops. A pushed hint
//! only makes the next question come sooner; no message is needed for safety.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::clock::Clock;
use crate::denial::Denial;
use crate::directory::{Lookup, Standing, TenantDirectory, TenantRecord};
use crate::id::Life;

/// Asks the directory and remembers, per life, for a bounded time.
pub(crate) struct Fence {
    directory: Arc<dyn TenantDirectory>,
    clock: Arc<dyn Clock>,
    max_age: Duration,
    patience: Duration,
    slots: Mutex<HashMap<Life, Arc<FenceSlot>>>,
}

/// The answer about one life, shared by all contexts of that life.
pub(crate) struct FenceSlot {
    life: Life,
    answer: Mutex<Answer>,
    hints: AtomicU64,
    refreshing: tokio::sync::Mutex<()>,
}

#[derive(Clone, Copy)]
struct Answer {
    standing: Standing,
    asked: Asked,
    /// How many hints had come when the question was asked.
    hints: u64,
}

/// When a question was asked: age counts from the question, not from the answer, so that a slow directory can't
/// stretch the bound.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    monotonic: Duration,
    wall: SystemTime,
}

impl Asked {
    pub(crate) fn now(clock: &dyn Clock) -> Self {
        Self { monotonic: clock.monotonic(), wall: clock.now() }
    }
}

enum Freshness {
    Fresh,
    Aging,
    Lapsed,
}

impl Fence {
    pub(crate) fn new(
        directory: Arc<dyn TenantDirectory>,
        clock: Arc<dyn Clock>,
        max_age: Duration,
        patience: Duration,
    ) -> Self {
        Self { directory, clock, max_age, patience, slots: Mutex::default() }
    }

    /// The slot of a life, with an answer that was just received.
    pub(crate) fn slot(&self, life: Life, standing: Standing, asked: Asked) -> Arc<FenceSlot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= SLOTS_SOFT_LIMIT {
            slots.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        let answer = Answer { standing, asked, hints: 0 };
        let slot = slots.entry(life).or_insert_with(|| Arc::new(FenceSlot::new(life, answer)));
        slot.learn(answer);
        Arc::clone(slot)
    }

    /// A hint that something about the life has changed: the next use asks.
    pub(crate) fn hint(&self, life: Life) {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get(&life) {
            slot.hints.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Whether the life may be served now, asking the directory where the answer is in its second half or a hint came.
    /// Dropped at any await: the question is forgotten, the old answer keeps its old expiry.
    pub(crate) async fn check(&self, slot: &FenceSlot) -> Result<(), Denial> {
        let answer = slot.answer();
        match self.freshness(slot, &answer, self.clock.monotonic()) {
            Freshness::Fresh => return standing_allows(answer.standing),
            Freshness::Aging => {
                // One asks; the others go on with the answer that still holds.
                if let Ok(_one) = slot.refreshing.try_lock() {
                    let _kept = self.ask(slot).await;
                }
            }
            Freshness::Lapsed => {
                let asked = tokio::time::timeout(self.patience, slot.refreshing.lock());
                let _one = asked.await.map_err(|_| Denial::FenceStale)?;
                if matches!(self.freshness(slot, &slot.answer(), self.clock.monotonic()), Freshness::Lapsed) {
                    self.ask(slot).await?;
                }
            }
        }
        self.check_now(slot, self.clock.monotonic())
    }

    /// Whether the life may be served now, at this monotonic time, by the answer at hand.
    pub(crate) fn check_now(&self, slot: &FenceSlot, now: Duration) -> Result<(), Denial> {
        let answer = slot.answer();
        match self.freshness(slot, &answer, now) {
            Freshness::Lapsed => Err(Denial::FenceStale),
            Freshness::Fresh | Freshness::Aging => standing_allows(answer.standing),
        }
    }

    /// Whether the last answer, however old it is, lets the life be served: for what asks again before it does anything.
    pub(crate) fn check_last(slot: &FenceSlot) -> Result<(), Denial> {
        standing_allows(slot.answer().standing)
    }

    fn freshness(&self, slot: &FenceSlot, answer: &Answer, now: Duration) -> Freshness {
        let age = now.saturating_sub(answer.asked.monotonic);
        // On some systems the monotonic clock stands still while the host sleeps; the wall clock tells.
        let slept = self.clock.now().duration_since(answer.asked.wall).is_ok_and(|wall| wall >= self.max_age);
        if age >= self.max_age || slept {
            Freshness::Lapsed
        } else if answer.hints != slot.hints.load(Ordering::Acquire) || age >= self.max_age / 2 {
            Freshness::Aging
        } else {
            Freshness::Fresh
        }
    }

    async fn ask(&self, slot: &FenceSlot) -> Result<(), Denial> {
        let asked = Asked::now(&*self.clock);
        // Hints that come from here on are about something newer than what this question will hear.
        let hints = slot.hints.load(Ordering::Acquire);
        let lookup = Lookup::life(slot.life);
        let found = tokio::time::timeout(self.patience, self.directory.find(lookup)).await;
        let standing = match found {
            Ok(Ok(Some(record))) if lookup.is_answered_by(&record) => record.standing(),
            // Gone from the directory is gone.
            Ok(Ok(None)) => Standing::Erased,
            _unavailable => return Err(Denial::FenceStale),
        };
        slot.learn(Answer { standing, asked, hints });
        Ok(())
    }
}

impl FenceSlot {
    fn new(life: Life, answer: Answer) -> Self {
        Self { life, answer: Mutex::new(answer), hints: AtomicU64::new(0), refreshing: tokio::sync::Mutex::new(()) }
    }

    fn answer(&self) -> Answer {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an answer unless a later question was answered already.
    fn learn(&self, new: Answer) {
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        if new.asked.monotonic >= answer.asked.monotonic {
            *answer = new;
        }
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fence").field("max_age", &self.max_age).finish_non_exhaustive()
    }
}

/// Whether a record's standing lets it be served.
pub(crate) fn standing_allows(standing: Standing) -> Result<(), Denial> {
    match standing {
        Standing::Active => Ok(()),
        Standing::Suspended => Err(Denial::TenantSuspended),
        Standing::Erased => Err(Denial::TenantErased),
    }
}

/// Looks a record up and believes the answer only if it answers the question.
pub(crate) async fn find(
    directory: &dyn TenantDirectory,
    patience: Duration,
    lookup: Lookup<'_>,
) -> Result<Option<TenantRecord>, Denial> {
    let found = tokio::time::timeout(patience, directory.find(lookup)).await;
    match found.map_err(|_| Denial::DirectoryUnavailable)?.map_err(|_| Denial::DirectoryUnavailable)? {
        Some(record) if !lookup.is_answered_by(&record) => Err(Denial::DirectoryUnavailable),
        answer => Ok(answer),
    }
}

const SLOTS_SOFT_LIMIT: usize = 10_000;
