//! The queues between those who record and the one who writes: bounded, one per lane, taken in turns. No IO, no clock.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::counting::{Kind, Overflow, Windows, kind_of};
use super::event::AuditEvent;
use super::settings::AuditSettings;
use crate::id::Life;

/// Whose queue, and whose chain.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Lane {
    /// Everybody who was not identified, together.
    Anonymous,
    /// Operators and the log itself.
    Operators,
    /// One tenant.
    Life(Life),
}

impl Lane {
    pub(super) const fn life(self) -> Option<Life> {
        match self {
            Self::Anonymous | Self::Operators => None,
            Self::Life(life) => Some(life),
        }
    }
}

/// As in the log.
impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anonymous => f.write_str("anonymous"),
            Self::Operators => f.write_str("operators"),
            Self::Life(life) => life.uuid().fmt(f),
        }
    }
}

/// One reserved place in a lane. Dropped, it is free again.
pub(super) type Place = OwnedSemaphorePermit;

/// Told when the record is durable; dropped when it will not be.
pub(super) type Written = oneshot::Sender<()>;

/// What the writer takes: an event, or a count of equal ones.
pub(super) struct Pending {
    pub(super) lane: Lane,
    pub(super) event: AuditEvent,
    pub(super) count: u64,
    pub(super) written: Option<Written>,
}

/// All lanes. Everything in them that waits to be written has a stamp, and stamps rise.
pub(super) struct Lanes {
    settings: AuditSettings,
    lanes: HashMap<Lane, Queue>,
    /// Lanes with something to write, in the order of their turns. Each stands in it once.
    turns: VecDeque<Lane>,
    /// When windows end. They all last equally long, so the first to begin is the first to end.
    ends: VecDeque<(Duration, Lane, Kind)>,
    stamp: u64,
    closed: bool,
    /// How many lanes there may be before the idle ones are removed.
    sweep_at: usize,
}

struct Queue {
    places: Arc<Semaphore>,
    queued: VecDeque<Queued>,
    windows: Windows,
    overflow: Overflow,
    has_turn: bool,
}

struct Queued {
    stamp: u64,
    event: AuditEvent,
    written: Option<Written>,
    /// Freed when the writer takes the event.
    _place: Place,
}

impl Lanes {
    pub(super) fn new(settings: AuditSettings) -> Self {
        Self {
            settings,
            lanes: HashMap::new(),
            turns: VecDeque::new(),
            ends: VecDeque::new(),
            stamp: 0,
            closed: false,
            sweep_at: MIN_SWEEP,
        }
    }

    /// The places of a lane, to be acquired with or without waiting.
    pub(super) fn places(&mut self, lane: Lane) -> Arc<Semaphore> {
        Arc::clone(&self.queue(lane).places)
    }

    /// Takes an event in: counted if it repeats one, else into its place, else into a free one, else counted too.
    pub(super) fn admit(&mut self, lane: Lane, event: AuditEvent, place: Option<Place>, now: Duration) {
        let Some(kind) = kind_of(&event) else {
            return self.enqueue(lane, event, place, None);
        };
        let limit = self.settings.distinct;
        let queue = self.queue(lane);
        if queue.windows.count(&kind, event.at, now) {
            return;
        }
        let place = place.or_else(|| queue.free_place());
        // Only what is queued is watched: repetitions are counted beside a record that says it all.
        if place.is_some()
            && let Some(until) = queue.windows.open(&kind, event.at, now, limit)
        {
            self.ends.push_back((until, lane, kind));
        }
        self.enqueue(lane, event, place, None);
    }

    /// Takes an event in that somebody waits for: never counted.
    pub(super) fn admit_awaited(&mut self, lane: Lane, event: AuditEvent, place: Place, written: Written) {
        self.enqueue(lane, event, Some(place), Some(written));
    }

    fn enqueue(&mut self, lane: Lane, event: AuditEvent, place: Option<Place>, written: Option<Written>) {
        let stamp = self.next_stamp();
        let queue = self.queue(lane);
        match place.or_else(|| queue.free_place()) {
            Some(place) => queue.queued.push_back(Queued { stamp, event, written, _place: place }),
            None => queue.overflow.add(&event, stamp),
        }
        self.give_turn(lane);
    }

    /// Ends the windows whose second is over.
    pub(super) fn expire(&mut self, now: Duration) {
        while self.ends.front().is_some_and(|(until, ..)| *until <= now) {
            let Some((_, lane, kind)) = self.ends.pop_front() else { return };
            let stamp = self.next_stamp();
            if self.lanes.get_mut(&lane).is_some_and(|queue| queue.windows.expire(&kind, now, stamp)) {
                self.give_turn(lane);
            }
        }
    }

    /// When the next window ends.
    pub(super) fn next_end(&self) -> Option<Duration> {
        self.ends.front().map(|(until, ..)| *until)
    }

    /// Makes everything due that was counted so far. The stamp up to which all must be written for it to be durable.
    pub(super) fn make_due(&mut self) -> u64 {
        let stamp = self.next_stamp();
        let due: Vec<Lane> =
            self.lanes.iter_mut().filter_map(|(lane, queue)| queue.windows.make_due(stamp).then_some(*lane)).collect();
        for lane in due {
            self.give_turn(lane);
        }
        stamp
    }

    /// The next batch: of each lane in turn its oldest, its share at most. Empty when nothing waits.
    pub(super) fn take_round(&mut self) -> Vec<Pending> {
        let mut round = Vec::new();
        for _ in 0..self.turns.len() {
            if round.len() >= MAX_ROUND {
                break;
            }
            let Some(lane) = self.turns.pop_front() else { break };
            let Some(queue) = self.lanes.get_mut(&lane) else { continue };
            round.extend((0..self.settings.share).map_while(|_| queue.take(lane)));
            queue.has_turn = queue.oldest().is_some();
            if queue.has_turn {
                self.turns.push_back(lane);
            }
        }
        round
    }

    /// Whether so many records of the lane wait for the sink that it is not keeping up.
    pub(super) fn is_behind(&self, lane: Lane) -> bool {
        self.lanes.get(&lane).is_some_and(|queue| queue.queued.len() * 2 >= self.settings.capacity)
    }

    /// Whether anything waits for the writer.
    pub(super) fn has_turns(&self) -> bool {
        !self.turns.is_empty()
    }

    /// The stamp of what waits the longest.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.turns.iter().filter_map(|lane| self.lanes.get(lane)?.oldest()).min()
    }

    /// Gives out no more places, and sends away who waits for one.
    pub(super) fn close(&mut self) {
        self.closed = true;
        for queue in self.lanes.values() {
            queue.places.close();
        }
    }

    /// Whether somebody still holds a place, or is about to.
    pub(super) fn has_holders(&self) -> bool {
        self.lanes.values().any(|queue| Arc::strong_count(&queue.places) > 1 + queue.queued.len())
    }

    fn queue(&mut self, lane: Lane) -> &mut Queue {
        if self.lanes.len() >= self.sweep_at && !self.lanes.contains_key(&lane) {
            self.lanes.retain(|_, queue| !queue.is_idle());
            self.sweep_at = (self.lanes.len() * 2).max(MIN_SWEEP);
        }
        let (capacity, closed) = (self.settings.capacity, self.closed);
        self.lanes.entry(lane).or_insert_with(|| Queue::new(capacity, closed))
    }

    fn give_turn(&mut self, lane: Lane) {
        if let Some(queue) = self.lanes.get_mut(&lane)
            && !queue.has_turn
        {
            queue.has_turn = true;
            self.turns.push_back(lane);
        }
    }

    fn next_stamp(&mut self) -> u64 {
        self.stamp += 1;
        self.stamp
    }
}

impl Queue {
    fn new(capacity: usize, closed: bool) -> Self {
        let places = Semaphore::new(capacity);
        if closed {
            places.close();
        }
        Self {
            places: Arc::new(places),
            queued: VecDeque::new(),
            windows: Windows::default(),
            overflow: Overflow::default(),
            has_turn: false,
        }
    }

    fn free_place(&self) -> Option<Place> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Takes what waits the longest, so that neither kind of waiting starves another.
    fn take(&mut self, lane: Lane) -> Option<Pending> {
        let oldest = self.oldest()?;
        let counted = if self.windows.oldest() == Some(oldest) {
            self.windows.take()
        } else if self.overflow.oldest() == Some(oldest) {
            self.overflow.take()
        } else {
            let Queued { event, written, .. } = self.queued.pop_front()?;
            return Some(Pending { lane, event, count: 1, written });
        };
        counted.map(|(event, count)| Pending { lane, event, count, written: None })
    }

    fn oldest(&self) -> Option<u64> {
        let queued = self.queued.front().map(|queued| queued.stamp);
        [queued, self.windows.oldest(), self.overflow.oldest()].into_iter().flatten().min()
    }

    /// Nothing in it, and nobody holds or awaits one of its places: whoever does holds the semaphore too.
    fn is_idle(&self) -> bool {
        self.queued.is_empty()
            && self.windows.is_empty()
            && self.overflow.is_empty()
            && Arc::strong_count(&self.places) == 1
    }
}

/// A round of more than this waits for the next, however many lanes there are.
const MAX_ROUND: usize = 4096;

/// Lanes below this number are not worth a sweep.
const MIN_SWEEP: usize = 64;

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::super::event::Outcome;
    use super::*;
    use crate::denial::Denial;

    const NOW: Duration = Duration::from_secs(7);

    fn lanes() -> Lanes {
        Lanes::new(AuditSettings::default().capacity(8).share(4).distinct(2))
    }

    fn event(action: &'static str, outcome: Outcome) -> AuditEvent {
        AuditEvent::new(action, outcome, SystemTime::UNIX_EPOCH)
    }

    fn denied(action: &'static str) -> AuditEvent {
        AuditEvent::denied(action, Denial::NotVisible, SystemTime::UNIX_EPOCH)
    }

    fn taken(lanes: &mut Lanes) -> Vec<(Lane, &'static str, u64)> {
        lanes.take_round().into_iter().map(|p| (p.lane, p.event.action, p.count)).collect()
    }

    #[test]
    fn a_round_takes_a_share_of_each_lane() {
        let mut lanes = lanes();
        let busy = Lane::Life(Life::random());
        for _ in 0..8 {
            lanes.admit(busy, event("busy", Outcome::Done), None, NOW);
        }
        lanes.admit(Lane::Operators, event("calm", Outcome::Done), None, NOW);
        let round = taken(&mut lanes);
        assert_eq!(round.iter().filter(|(lane, ..)| *lane == busy).count(), 4);
        assert_eq!(round.last(), Some(&(Lane::Operators, "calm", 1)));
        assert_eq!(taken(&mut lanes).len(), 4);
        assert!(taken(&mut lanes).is_empty());
    }

    #[test]
    fn what_finds_no_place_is_counted_in_a_bounded_table() {
        let mut lanes = lanes();
        for _ in 0..8 {
            lanes.admit(Lane::Anonymous, event("first", Outcome::Done), None, NOW);
        }
        for n in 0..40 {
            let word: &'static str = format!("word {n}").leak();
            lanes.admit(Lane::Anonymous, event(word, Outcome::Done), None, NOW);
            lanes.admit(Lane::Anonymous, event(word, Outcome::Done), None, NOW);
        }
        let mut rows = Vec::new();
        while let round = taken(&mut lanes)
            && !round.is_empty()
        {
            rows.extend(round.into_iter().skip_while(|(_, action, _)| *action == "first"));
        }
        assert_eq!(rows.len(), 33);
        assert_eq!(rows.last(), Some(&(Lane::Anonymous, "other", 16)));
        assert_eq!(rows.iter().map(|(_, _, count)| count).sum::<u64>(), 80);
    }

    #[test]
    fn kinds_beyond_the_limit_are_queued_singly() {
        let mut lanes = lanes();
        for action in ["a", "b", "c", "a", "b", "c"] {
            lanes.admit(Lane::Anonymous, denied(action), None, NOW);
        }
        lanes.expire(NOW + Duration::from_secs(1));
        let mut all = taken(&mut lanes);
        all.extend(taken(&mut lanes));
        let counts: Vec<_> = all.into_iter().map(|(_, action, count)| (action, count)).collect();
        assert_eq!(counts, [("a", 1), ("b", 1), ("c", 1), ("c", 1), ("a", 1), ("b", 1)]);
    }

    #[test]
    fn a_window_that_waits_for_the_writer_counts_on_and_is_written_once() {
        let mut lanes = lanes();
        let lane = Lane::Anonymous;
        for seconds in 0..5 {
            let now = NOW + Duration::from_secs(seconds);
            lanes.admit(lane, denied("a"), None, now);
            lanes.admit(lane, denied("a"), None, now);
            lanes.make_due();
            lanes.expire(now);
        }
        lanes.admit(lane, event("z", Outcome::Done), None, NOW);
        assert_eq!(taken(&mut lanes), [(lane, "a", 1), (lane, "a", 9), (lane, "z", 1)]);
    }

    #[test]
    fn idle_lanes_go_and_held_ones_stay() {
        let mut lanes = lanes();
        let held = Lane::Life(Life::random());
        let place = lanes.places(held).try_acquire_owned().unwrap();
        for _ in 0..10_000 {
            drop(lanes.places(Lane::Life(Life::random())).try_acquire_owned().unwrap());
        }
        assert!(lanes.lanes.len() <= MIN_SWEEP, "{}", lanes.lanes.len());
        assert_eq!(lanes.places(held).available_permits(), 7);
        assert!(lanes.has_holders());
        drop(place);
        assert!(!lanes.has_holders());
    }
}
