//! What the rest of core records with: places, events, and waiting until they are durable.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{Semaphore, TryAcquireError, oneshot};

use super::chain::Chains;
use super::event::{AuditEvent, Outcome};
use super::lanes::{Lane, Lanes, Place, Written};
use super::record::AuditRecord;
use super::settings::AuditSettings;
use super::sink::{AuditError, AuditSink};
use super::writer;
use crate::clock::Clock;
use crate::denial::Denial;
use crate::id::{Life, RealmName};

/// The audit log of a realm. Cheap to clone.
///
/// When the last clone is dropped without [`close`](Self::close) its thread writes what is there and ends, on its own
/// time: close it before the same file is opened again.
#[derive(Clone)]
pub(crate) struct Auditor {
    handle: Arc<Handle>,
}

/// One reserved place for a record. Dropped, the place is free again and nothing is recorded: what a drop means decides
/// the guard that holds the slot.
#[must_use = "a slot that is dropped records nothing"]
pub(crate) struct Slot {
    auditor: Auditor,
    lane: Lane,
    place: Place,
}

/// Held by the auditors, and not by the thread: tells it when the last one is gone.
struct Handle {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    /// Wakes the writer.
    pub(super) wake: Condvar,
    pub(super) sink: Arc<dyn AuditSink>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) settings: AuditSettings,
    /// As the phase says, for those who only look.
    pub(super) dead: AtomicBool,
}

pub(super) struct State {
    pub(super) lanes: Lanes,
    pub(super) phase: Phase,
    /// Whether something came in that the writer must not rest on.
    pub(super) hurry: bool,
    /// Whether the writer gathers what comes in, and looks by itself when it has rested.
    pub(super) resting: bool,
    /// When the last auditor was dropped.
    pub(super) abandoned: Option<Instant>,
    /// Who waits for everything up to a stamp.
    pub(super) flushes: Vec<(u64, Written)>,
    /// Who waits for the end.
    pub(super) closers: Vec<Written>,
}

/// Only ever moves down.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Open,
    /// No more places; who holds one may still settle it until then.
    Closing {
        until: Instant,
    },
    /// Nothing more comes in; what is there is written.
    Draining,
    /// All is written and the thread is gone.
    Closed,
    /// The thread is gone and not all is written.
    Dead,
}

impl Auditor {
    /// Starts the log's thread, whose first records say what was recovered and that it began.
    pub(crate) fn start(
        sink: Arc<dyn AuditSink>,
        realm: RealmName,
        clock: Arc<dyn Clock>,
        settings: AuditSettings,
    ) -> Result<Self, AuditError> {
        let state = State {
            lanes: Lanes::new(settings.clone()),
            phase: Phase::Open,
            hurry: false,
            resting: false,
            abandoned: None,
            flushes: Vec::new(),
            closers: Vec::new(),
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            wake: Condvar::new(),
            sink,
            clock,
            settings,
            dead: AtomicBool::new(false),
        });
        let now = shared.clock.now();
        if let Some(recovered) = shared.sink.recovered() {
            let reason = format!("a torn tail of {} bytes was cut off", recovered.bytes);
            let event = AuditEvent::new("audit.recovered", Outcome::Recovered, now);
            shared.admit(Lane::Operators, AuditEvent { reason: Some(reason), ..event }, None);
        }
        shared.admit(Lane::Operators, AuditEvent::new("audit.start", Outcome::Lifecycle, now), None);
        let theirs = Arc::clone(&shared);
        let chains = Chains::new(&realm);
        std::thread::Builder::new().name("tenancy-audit".to_owned()).spawn(move || writer::run(theirs, chains))?;
        Ok(Self { handle: Arc::new(Handle { shared }) })
    }

    /// Whether the log's thread is gone before its time, so that nothing can be recorded any more.
    pub(crate) fn is_dead(&self) -> bool {
        self.shared().dead.load(Ordering::Acquire)
    }

    /// Holds one place in the lane, waiting for it within the patience. Dropped while waiting: nothing is held.
    pub(crate) async fn reserve(&self, lane: Lane) -> Result<Slot, Denial> {
        let places = self.shared().places(lane)?;
        // In most cases there is room, and no timer is needed.
        let place = match Arc::clone(&places).try_acquire_owned() {
            Ok(place) => place,
            Err(TryAcquireError::Closed) => return Err(self.shared().refusal()),
            Err(TryAcquireError::NoPermits) => {
                self.patiently(async { places.acquire_owned().await.map_err(|_| self.shared().refusal()) }).await?
            }
        };
        Ok(Slot { auditor: self.clone(), lane, place })
    }

    /// Holds one place in the lane, or none when all are held by checks that are still going on: what comes of this one is
    /// then counted. For the lane that everybody shares before anybody is identified, where waiting would let whoever
    /// keeps many checks going lock everybody out. Records that wait for the sink are another matter: then it waits too.
    pub(crate) async fn place(&self, lane: Lane) -> Result<Option<Slot>, Denial> {
        match self.shared().places(lane)?.try_acquire_owned() {
            Ok(place) => Ok(Some(Slot { auditor: self.clone(), lane, place })),
            Err(TryAcquireError::Closed) => Err(self.shared().refusal()),
            Err(TryAcquireError::NoPermits) if self.shared().lock().lanes.is_behind(lane) => {
                self.reserve(lane).await.map(Some)
            }
            Err(TryAcquireError::NoPermits) => Ok(None),
        }
    }

    /// Holds one place in the lane, if there is one.
    #[cfg(test)]
    pub(crate) fn try_reserve(&self, lane: Lane) -> Result<Slot, Denial> {
        let place = self.shared().places(lane)?.try_acquire_owned().map_err(|_| self.shared().refusal())?;
        Ok(Slot { auditor: self.clone(), lane, place })
    }

    /// Records without waiting. When the lane is full the event is counted, by action, rule and outcome, and written
    /// as a count. Once the log is closed nothing is recorded: the realm is closed, and refuses everything by that.
    pub(crate) fn record(&self, lane: Lane, event: AuditEvent) {
        self.shared().admit(lane, event, None);
    }

    /// Records and waits until it is durable. Refused or dropped, the record may be written later or not at all; never
    /// half.
    pub(crate) async fn durable(&self, lane: Lane, event: AuditEvent) -> Result<(), Denial> {
        let shared = self.shared();
        self.patiently(async {
            let places = shared.places(lane)?;
            let place = places.acquire_owned().await.map_err(|_| shared.refusal())?;
            let (written, durable) = oneshot::channel();
            shared.with_state(|state| {
                if state.phase.admits() {
                    state.lanes.admit_awaited(lane, event, place, written);
                }
            });
            durable.await.map_err(|_| shared.refusal())
        })
        .await
    }

    /// Waits until everything recorded so far is durable, counts included.
    pub(crate) async fn flush(&self) -> Result<(), Denial> {
        let durable = self.shared().with_state(|state| match state.phase {
            Phase::Closed => Ok(None),
            Phase::Dead => Err(Denial::AuditUnavailable),
            Phase::Open | Phase::Closing { .. } | Phase::Draining => {
                let (written, durable) = oneshot::channel();
                let stamp = state.lanes.make_due();
                // A sink that hangs must not let those pile up who gave up waiting.
                state.flushes.retain(|(_, written)| !written.is_closed());
                state.flushes.push((stamp, written));
                Ok(Some(durable))
            }
        })?;
        self.until(durable).await
    }

    /// Ends the log: no more places, what is there is written, with the counts and a last record. Who holds a place has
    /// half the patience to settle it. Idempotent; refused or dropped, the thread goes on and may be waited for again.
    pub(crate) async fn close(&self) -> Result<(), Denial> {
        let ended = self.shared().with_state(|state| match state.phase {
            Phase::Closed => Ok(None),
            Phase::Dead => Err(Denial::AuditUnavailable),
            Phase::Open | Phase::Closing { .. } | Phase::Draining => {
                state.begin_close(&self.shared().settings);
                let (written, ended) = oneshot::channel();
                state.closers.retain(|written| !written.is_closed());
                state.closers.push(written);
                Ok(Some(ended))
            }
        })?;
        self.until(ended).await
    }

    /// What a tenant may see of what is written. Reads the sink, and blocks as it does.
    pub(crate) fn list(&self, life: Life) -> Result<Vec<AuditRecord>, Denial> {
        self.shared().sink.list(life).map_err(|_| Denial::AuditUnavailable)
    }

    async fn until(&self, told: Option<oneshot::Receiver<()>>) -> Result<(), Denial> {
        match told {
            Some(told) => self.patiently(async { told.await.map_err(|_| Denial::AuditUnavailable) }).await,
            None => Ok(()),
        }
    }

    async fn patiently<T>(&self, work: impl Future<Output = Result<T, Denial>> + Send) -> Result<T, Denial> {
        tokio::time::timeout(self.shared().settings.patience, work).await.unwrap_or(Err(Denial::AuditUnavailable))
    }

    fn shared(&self) -> &Shared {
        &self.handle.shared
    }
}

impl fmt::Debug for Auditor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Auditor")
    }
}

impl Slot {
    /// Records in the place. An event that only repeats another is counted, and the place is free at once.
    pub(crate) fn settle(self, event: AuditEvent) {
        self.auditor.shared().admit(self.lane, event, Some(self.place));
    }

    /// Nothing to record.
    pub(crate) fn waive(self) {}
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slot({:?})", self.lane)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.with_state(|state| {
            state.abandoned = Some(Instant::now());
            state.begin_close(&self.shared.settings);
        });
    }
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes something the writer may be waiting for.
    fn with_state<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let answer = change(&mut state);
        state.hurry = true;
        drop(state);
        self.wake.notify_one();
        answer
    }

    fn admit(&self, lane: Lane, event: AuditEvent, place: Option<Place>) {
        let patient = event.outcome == Outcome::Accessed;
        let mut state = self.lock();
        if state.phase.admits() {
            // Read under the lock, so that windows begin in the order of their times.
            let now = self.clock.monotonic();
            state.lanes.admit(lane, event, place, now);
        }
        // What was only counted need not wake the writer, who sleeps no longer than the window is open.
        if state.lanes.has_turns() && !state.lets_rest(lane, patient) {
            drop(state);
            self.wake.notify_one();
        }
    }

    fn places(&self, lane: Lane) -> Result<Arc<Semaphore>, Denial> {
        let mut state = self.lock();
        match state.phase {
            Phase::Open => Ok(state.lanes.places(lane)),
            refusing => Err(refusing.refusal()),
        }
    }

    fn refusal(&self) -> Denial {
        self.lock().phase.refusal()
    }
}

impl State {
    /// Whether a writer that gathers may go on with it: an access was recorded, and there is room for more.
    fn lets_rest(&mut self, lane: Lane, patient: bool) -> bool {
        self.hurry |= !patient || self.lanes.is_behind(lane);
        self.resting && !self.hurry
    }

    fn begin_close(&mut self, settings: &AuditSettings) {
        if self.phase == Phase::Open {
            self.phase = Phase::Closing { until: Instant::now() + settings.patience / 2 };
            self.lanes.close();
        }
    }
}

impl Phase {
    const fn admits(self) -> bool {
        matches!(self, Self::Open | Self::Closing { .. })
    }

    /// What somebody is told who can't have a place or an answer.
    const fn refusal(self) -> Denial {
        match self {
            Self::Open | Self::Dead => Denial::AuditUnavailable,
            Self::Closing { .. } | Self::Draining | Self::Closed => Denial::RealmClosed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sink::MemorySink;
    use super::*;
    use crate::clock::SystemClock;

    #[test]
    fn what_is_no_access_ends_the_rest() {
        let settings = AuditSettings::default().capacity(4);
        let realm = RealmName::parse("test").unwrap();
        let log =
            Auditor::start(Arc::new(MemorySink::default()), realm, Arc::new(SystemClock::new()), settings).unwrap();
        let lets_rest = |patience: &[bool]| {
            let mut state = log.shared().lock();
            (state.hurry, state.resting) = (false, true);
            patience.iter().map(|patient| state.lets_rest(Lane::Anonymous, *patient)).collect::<Vec<_>>()
        };
        assert_eq!(lets_rest(&[true, true]), [true, true], "accesses");
        assert_eq!(lets_rest(&[false, true]), [false, false], "a denial, and an access after it");
    }
}
