//! The thread that writes.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::auditor::{Phase, Shared, State};
use super::chain::Chains;
use super::event::{AuditEvent, Outcome};
use super::lanes::{Lane, Pending, Written};
use super::sink::AuditBatch;

/// Writes round after round until the log is closed or abandoned.
pub(super) fn run(shared: Arc<Shared>, mut chains: Chains) {
    let waiting = write_all(&shared, &mut chains);
    // Whoever waited for the end may open the same file next, so the thread lets go of the sink before it says so.
    drop(shared);
    for written in waiting {
        let _ = written.send(());
    }
}

/// Writes until the end, and gives back who waits for it: nobody when the log is dead.
fn write_all(shared: &Shared, chains: &mut Chains) -> Vec<Written> {
    let _obituary = Obituary(shared);
    while let Some(round) = next_round(shared) {
        if !write(shared, chains, round) {
            return Vec::new();
        }
        rest(shared);
    }
    let event = AuditEvent::new("audit.close", Outcome::Lifecycle, shared.clock.now());
    if !write(shared, chains, vec![Pending { lane: Lane::Operators, event, count: 1, written: None }]) {
        return Vec::new();
    }
    let mut state = shared.lock();
    state.phase = Phase::Closed;
    let flushes = std::mem::take(&mut state.flushes).into_iter().map(|(_, written)| written);
    flushes.chain(std::mem::take(&mut state.closers)).collect()
}

/// Waits for something to write. `None` when the log is closing and there will be nothing any more.
fn next_round(shared: &Shared) -> Option<Vec<Pending>> {
    let mut state = shared.lock();
    loop {
        if let Phase::Closing { until } = state.phase {
            state.lanes.make_due();
            if Instant::now() >= until || !state.lanes.has_holders() {
                state.phase = Phase::Draining;
            }
        }
        let now = shared.clock.monotonic();
        state.lanes.expire(now);
        // Here nothing is in the writer's hands: what is not in the lanes is durable.
        state.answer_flushes();
        let round = state.lanes.take_round();
        state.hurry = state.lanes.has_turns() || state.has_waiters();
        if !round.is_empty() {
            return Some(round);
        }
        state = match (state.phase, state.lanes.next_end()) {
            (Phase::Draining, _) => return None,
            (Phase::Closing { .. }, _) => {
                shared.wake.wait_timeout(state, HOLDERS_TICK).unwrap_or_else(PoisonError::into_inner).0
            }
            (_, Some(end)) => {
                let pause = end.saturating_sub(now).clamp(SHORTEST_TICK, LONGEST_TICK);
                shared.wake.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0
            }
            (_, None) => shared.wake.wait(state).unwrap_or_else(PoisonError::into_inner),
        };
    }
}

/// Lets accesses gather, which come one for nearly each request and for which nobody waits: one round for all of a few
/// milliseconds takes a fraction of the wake-ups, and of the sink's `fsync`s. The first after a quiet time is written at
/// once, as is everything else.
fn rest(shared: &Shared) {
    let until = Instant::now() + REST;
    let mut state = shared.lock();
    state.resting = true;
    while !state.hurry
        && let Some(pause) = until.checked_duration_since(Instant::now())
    {
        state = shared.wake.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
    }
    state.resting = false;
}

/// Writes one round, however often it takes: the next would not link to anything else. `false` when nobody is left who
/// could still want it and the sink does not take it.
fn write(shared: &Shared, chains: &mut Chains, round: Vec<Pending>) -> bool {
    let mut records = Vec::with_capacity(round.len());
    let mut waiting = Vec::new();
    for Pending { lane, event, count, written } in round {
        records.push(chains.append(lane, event, count));
        waiting.extend(written);
    }
    let mut pause = FIRST_PAUSE;
    while shared.sink.append(&AuditBatch::new(&records)).is_err() {
        let abandoned = shared.lock().abandoned;
        if abandoned.is_some_and(|since| since.elapsed() > shared.settings.patience) {
            return false;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    for written in waiting {
        // Whoever waited may have given up; the record is written all the same.
        let _ = written.send(());
    }
    true
}

impl State {
    fn has_waiters(&self) -> bool {
        !self.flushes.is_empty() || self.phase != Phase::Open
    }

    fn answer_flushes(&mut self) {
        if self.flushes.is_empty() {
            return;
        }
        let oldest = self.lanes.oldest().unwrap_or(u64::MAX);
        for (_, written) in self.flushes.extract_if(.., |(stamp, _)| *stamp < oldest) {
            // Whoever waited may have given up.
            let _ = written.send(());
        }
    }
}

/// Marks the log dead when the thread ends without having closed it, because a sink panicked or nobody is left: nobody
/// must wait for, or get a place with, a thread that is gone.
struct Obituary<'a>(&'a Shared);

impl Drop for Obituary<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        if state.phase != Phase::Closed {
            state.phase = Phase::Dead;
            self.0.dead.store(true, Ordering::Release);
            state.lanes.close();
            // Whoever waits for one of these is told by its end being dropped.
            while !state.lanes.take_round().is_empty() {}
            state.flushes.clear();
            state.closers.clear();
        }
    }
}

/// How long accesses gather: also how much of them a crash of the machine may take, besides what is in the sink's hands.
const REST: Duration = Duration::from_millis(5);

/// How long to wait before a failed batch is tried again, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long to sleep while windows are open. The longest bounds how late a count is when the realm's clock is not the
/// machine's.
const SHORTEST_TICK: Duration = Duration::from_millis(1);
const LONGEST_TICK: Duration = Duration::from_millis(200);

/// How often to look, while closing, whether the last place was settled: one that is dropped wakes nobody.
const HOLDERS_TICK: Duration = Duration::from_millis(5);
