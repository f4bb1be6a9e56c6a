//! What a standby must have replayed before a tenant reads from it.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tenancy_core::Life;

use super::point::Point;
use crate::closing::Closing;
use crate::redact::ends_the_session;

/// How far the log had come at the last commit of each life, and whose last commit is in doubt.
///
/// Bounded: where there are too many lives, the oldest knowledge is made everybody's, which asks more of the standby and
/// never less.
pub(crate) struct Known(Mutex<State>);

struct State {
    /// What every read must see: how far the log had come when the database was last looked at, and what lives were
    /// forgotten.
    floor: Point,
    lives: HashMap<Life, Mark>,
    /// How many doubts there were, so that what began before one does not settle it.
    doubts: u64,
    /// The doubt that is everybody's, since there were more than can be kept apart.
    everybody: Option<u64>,
}

#[derive(Default)]
struct Mark {
    /// On the floor's timeline.
    lsn: u64,
    /// The number of the doubt.
    doubt: Option<u64>,
}

impl Known {
    pub(super) fn new(floor: Point) -> Self {
        Self(Mutex::new(State { floor, lives: HashMap::new(), doubts: 0, everybody: None }))
    }

    /// What a read of this life must see; `None` where only the primary knows.
    pub(super) fn needed(&self, life: Life) -> Option<Point> {
        let state = self.state();
        let (lsn, doubt) = state.lives.get(&life).map_or((0, None), |mark| (mark.lsn, mark.doubt));
        let certain = doubt.is_none() && state.everybody.is_none();
        certain.then(|| Point { lsn: lsn.max(state.floor.lsn), ..state.floor })
    }

    /// What every read must see.
    pub(super) fn floor(&self) -> Point {
        self.state().floor
    }

    /// Before a commit is sent. What is dropped without having been told how that ended leaves a doubt.
    pub(crate) fn write(&self, life: Life) -> Write<'_> {
        Write { known: self, life, began: self.moment(), told: false }
    }

    /// Somebody may have committed something for this life: it reads from the primary until a later commit is known.
    pub(crate) fn doubt(&self, life: Life) {
        let mut state = self.state();
        state.doubts += 1;
        let doubt = Some(state.doubts);
        state.mark(life).doubt = doubt;
    }

    /// Raises what a life must see, on somebody else's word.
    pub(crate) fn must_see(&self, life: Life, point: Point) {
        self.state().raise(life, point);
    }

    /// Before the primary is asked how far its log has come.
    pub(super) fn moment(&self) -> u64 {
        self.state().doubts
    }

    /// It was asked, and every read must see that from now on: doubts of before `since` are settled by it.
    pub(super) fn looked(&self, since: u64, point: Point) {
        let mut state = self.state();
        match state.turn_to(point) {
            Ordering::Equal => state.floor.lsn = state.floor.lsn.max(point.lsn),
            Ordering::Greater => {}
            // A server of the past knows nothing of what is in doubt now.
            Ordering::Less => return,
        }
        let floor = state.floor.lsn;
        let settle = |doubt: Option<u64>| doubt.filter(|doubt| *doubt > since);
        state.everybody = settle(state.everybody);
        state.lives.retain(|_, mark| {
            mark.doubt = settle(mark.doubt);
            mark.doubt.is_some() || mark.lsn > floor
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// After a promotion every place that is known is one of the past, and whatever of it is left is before this one.
    fn turn_to(&mut self, point: Point) -> Ordering {
        let turn = point.timeline.cmp(&self.floor.timeline);
        if turn == Ordering::Greater {
            self.floor = point;
            self.lives.values_mut().for_each(|mark| mark.lsn = 0);
        }
        turn
    }

    fn raise(&mut self, life: Life, point: Point) -> Ordering {
        let turn = self.turn_to(point);
        if turn == Ordering::Equal && point.lsn > self.floor.lsn {
            let mark = self.mark(life);
            mark.lsn = mark.lsn.max(point.lsn);
        }
        turn
    }

    fn mark(&mut self, life: Life) -> &mut Mark {
        if self.lives.len() >= MOST_LIVES && !self.lives.contains_key(&life) {
            self.forget();
        }
        self.lives.entry(life).or_default()
    }

    /// Makes what is known of each life everybody's.
    fn forget(&mut self) {
        self.floor.lsn = self.lives.values().map(|mark| mark.lsn).fold(self.floor.lsn, u64::max);
        self.lives.retain(|_, mark| mark.doubt.is_some());
        if self.lives.len() >= MOST_LIVES {
            self.everybody = Some(self.doubts);
            self.lives.clear();
        }
    }
}

/// A commit of a life that is under way.
#[must_use = "dropped, it leaves a doubt"]
pub(crate) struct Write<'k> {
    known: &'k Known,
    life: Life,
    began: u64,
    told: bool,
}

impl Write<'_> {
    /// Tells how it ended, as far as that is known.
    pub(crate) fn ended(self, closing: &Closing) {
        match closing {
            Closing::Ended { wrote, point } => self.committed(*wrote, *point),
            Closing::Breach | Closing::WasAborted => self.undone(),
            // The server's own word that it has not committed.
            Closing::Failed { error: error @ sqlx::Error::Database(_), .. } if !ends_the_session(error) => {
                self.undone()
            }
            Closing::Failed { .. } => drop(self),
        }
    }

    /// It was committed, and the log had come so far by then.
    fn committed(mut self, wrote: bool, point: Option<Point>) {
        let Some(point) = point else {
            self.told = !wrote;
            return;
        };
        self.told = true;
        let mut state = self.known.state();
        let doubt = state.lives.get(&self.life).and_then(|mark| mark.doubt);
        if !wrote && doubt.is_none() {
            return;
        }
        match state.raise(self.life, point) {
            // The answer of a primary that is one no more.
            Ordering::Less => {
                drop(state);
                self.known.doubt(self.life);
            }
            Ordering::Equal | Ordering::Greater => {
                if let Some(mark) = state.lives.get_mut(&self.life) {
                    mark.doubt = doubt.filter(|doubt| *doubt > self.began);
                }
            }
        }
    }

    /// Nothing was committed.
    fn undone(mut self) {
        self.told = true;
    }
}

impl Drop for Write<'_> {
    fn drop(&mut self) {
        if !self.told {
            self.known.doubt(self.life);
        }
    }
}

const MOST_LIVES: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(timeline: u32, lsn: u64) -> Point {
        Point { timeline, lsn }
    }

    #[test]
    fn a_life_must_see_its_own_last_commit_and_no_other_lifes() {
        let known = Known::new(at(1, 100));
        let (acme, globex) = (Life::random(), Life::random());
        known.write(acme).committed(true, Some(at(1, 200)));
        known.write(acme).committed(true, Some(at(1, 150)));
        known.write(globex).committed(false, Some(at(1, 300)));
        known.write(globex).undone();
        assert_eq!((known.needed(acme), known.needed(globex)), (Some(at(1, 200)), Some(at(1, 100))));
        known.looked(known.moment(), at(1, 180));
        assert_eq!((known.needed(acme), known.needed(globex)), (Some(at(1, 200)), Some(at(1, 180))));
        known.must_see(globex, at(1, 190));
        known.must_see(acme, at(1, 190));
        assert_eq!((known.needed(acme), known.needed(globex)), (Some(at(1, 200)), Some(at(1, 190))));
    }

    #[test]
    fn a_doubt_is_settled_by_what_began_after_it_and_by_nothing_else() {
        let known = Known::new(at(1, 100));
        let acme = Life::random();
        let before = known.write(acme);
        drop(known.write(acme));
        assert_eq!(known.needed(acme), None);
        before.committed(true, Some(at(1, 200)));
        assert_eq!(known.needed(acme), None, "it may have been sent before the one in doubt");
        known.must_see(acme, at(1, 300));
        assert_eq!(known.needed(acme), None, "somebody else's word");
        known.write(acme).undone();
        assert_eq!(known.needed(acme), None);
        known.write(acme).committed(true, None);
        assert_eq!(known.needed(acme), None, "committed, and nobody knows where");
        // It changed nothing itself, and the log is past what it began after.
        known.write(acme).committed(false, Some(at(1, 400)));
        assert_eq!(known.needed(acme), Some(at(1, 400)));

        let looking = known.moment();
        known.doubt(acme);
        known.looked(looking, at(1, 500));
        assert_eq!(known.needed(acme), None, "the look began before it");
        known.looked(known.moment(), at(1, 600));
        assert_eq!(known.needed(acme), Some(at(1, 600)));
    }

    #[test]
    fn a_promotion_makes_every_place_one_of_the_past() {
        let known = Known::new(at(1, 100));
        let (acme, globex) = (Life::random(), Life::random());
        known.write(acme).committed(true, Some(at(1, 900)));
        known.write(globex).committed(true, Some(at(2, 500)));
        assert_eq!((known.needed(acme), known.needed(globex)), (Some(at(2, 500)), Some(at(2, 500))));
        known.write(acme).committed(true, Some(at(1, 950)));
        assert_eq!(known.needed(acme), None, "a primary of the past has answered");
        known.must_see(globex, at(1, 990));
        assert_eq!(known.needed(globex), Some(at(2, 500)));
    }

    #[test]
    fn what_is_forgotten_asks_more_and_never_less() {
        let known = Known::new(at(1, 0));
        let first = Life::random();
        known.write(first).committed(true, Some(at(1, 7)));
        for lsn in 1..=MOST_LIVES as u64 {
            known.write(Life::random()).committed(true, Some(at(1, lsn)));
        }
        assert!(known.state().lives.len() <= MOST_LIVES);
        assert!(known.needed(first).is_some_and(|needed| needed.lsn >= 7));
        let known = Known::new(at(1, 0));
        for _life in 0..=MOST_LIVES {
            known.doubt(Life::random());
        }
        assert!(known.state().lives.len() <= MOST_LIVES);
        assert_eq!(known.needed(first), None, "among so many doubts it may be anybody's");
        known.looked(known.moment(), at(1, 1));
        assert_eq!(known.needed(first), Some(at(1, 1)));
    }
}
