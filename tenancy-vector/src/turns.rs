//! Who is next, for those who write a back end whose engine does a limited number of things at once.
//!
//! One queue for everybody lets one life hold up all others: a few slow calls of its own take every place. Here a life may
//! have no more turns than are free (dynamic thresholds, Choudhury and Hahne, 1998). Alone it has half of them; of several
//! greedy ones each has the same, and one turn is left for whoever comes next; only as many lives at once as there are turns
//! can take them all.
//!
//! ```
//! use tenancy_vector::turns::Turns;
//! use tenancy_vector::{BackendError, VectorScope};
//!
//! struct Engine {
//!     turns: Turns, // Turns::new(64)
//! }
//!
//! impl Engine {
//!     async fn ask(&self, scope: &VectorScope<'_>) -> Result<(), BackendError> {
//!         let _turn = self.turns.take(scope).await;
//!         Ok(()) // what the engine does meanwhile
//!     }
//! }
//! ```

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::scope::VectorScope;

/// A number of turns that lives share. Cheap to clone: clones are the same turns.
#[derive(Clone)]
pub struct Turns(Arc<Mutex<State>>);

/// A turn. It ends when this is dropped, wherever that is.
pub struct Turn {
    turns: Turns,
    lane: Arc<str>,
}

struct State {
    free: usize,
    /// Lives that have a turn or wait for one, and no others.
    lanes: HashMap<Arc<str>, Lane>,
}

#[derive(Default)]
struct Lane {
    held: usize,
    waiting: VecDeque<oneshot::Sender<Turn>>,
}

impl Turns {
    /// So many, at least one.
    #[must_use]
    pub fn new(turns: usize) -> Self {
        Self(Arc::new(Mutex::new(State { free: turns.max(1), lanes: HashMap::new() })))
    }

    /// Waits for a turn of a life: behind those of its own that came before, and beside others'. Dropped, it waits no longer,
    /// and a turn that came at that moment is the next one's.
    pub async fn take(&self, scope: &VectorScope<'_>) -> Turn {
        self.take_as(scope.partition()).await
    }

    /// The same under any name.
    pub(crate) async fn take_as(&self, lane: &str) -> Turn {
        loop {
            let waiting = {
                let mut state = self.state();
                let (lane, free) = (state.name(lane), state.free);
                let place = state.lanes.entry(Arc::clone(&lane)).or_default();
                // Nobody waits who may have one: see `end`.
                if place.held < free {
                    return state.turn(self, lane);
                }
                // Those that gave up leave nothing behind while nobody's turn ends.
                place.waiting.retain(|waiting| !waiting.is_closed());
                let (sender, waiting) = oneshot::channel();
                place.waiting.push_back(sender);
                waiting
            };
            // The other end is not dropped without a turn in it.
            if let Ok(turn) = waiting.await {
                return turn;
            }
        }
    }

    /// Ends a turn, and gives what is free to whoever has the fewest and may have one more.
    fn end(&self, lane: &str) {
        let mut given = Vec::new();
        {
            let mut state = self.state();
            state.free += 1;
            if let Some(place) = state.lanes.get_mut(lane) {
                place.held -= 1;
            }
            state.forget(lane);
            while let Some((next, waiting)) = state.next() {
                if !waiting.is_closed() {
                    given.push((waiting, state.turn(self, Arc::clone(&next))));
                }
                state.forget(&next);
            }
        }
        for (waiting, turn) in given {
            // One that gave up at this moment gives its turn back here, where nothing is locked.
            drop(waiting.send(turn));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn name(&self, lane: &str) -> Arc<str> {
        self.lanes.get_key_value(lane).map_or_else(|| lane.into(), |(name, _)| Arc::clone(name))
    }

    /// Of those that wait and may have one more, the first of the one with the fewest.
    fn next(&mut self) -> Option<(Arc<str>, oneshot::Sender<Turn>)> {
        let free = self.free;
        let waiting = self.lanes.iter_mut().filter(|(_, lane)| !lane.waiting.is_empty() && lane.held < free);
        let (name, lane) = waiting.min_by_key(|(_, lane)| lane.held)?;
        Some((Arc::clone(name), lane.waiting.pop_front()?))
    }

    fn turn(&mut self, turns: &Turns, lane: Arc<str>) -> Turn {
        self.free -= 1;
        self.lanes.entry(Arc::clone(&lane)).or_default().held += 1;
        Turn { turns: turns.clone(), lane }
    }

    /// Keeps nothing of a life that has no turn and waits for none.
    fn forget(&mut self, lane: &str) {
        if self.lanes.get(lane).is_some_and(|lane| lane.held == 0 && lane.waiting.is_empty()) {
            self.lanes.remove(lane);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.end(&self.lane);
    }
}

impl fmt::Debug for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turns").field("free", &self.state().free).finish_non_exhaustive()
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Turn(..)")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::*;

    impl Turns {
        /// A turn, if there is one now.
        fn now(&self, lane: &str) -> Option<Turn> {
            self.take_as(lane).now_or_never()
        }

        fn all(&self, lane: &str) -> Vec<Turn> {
            std::iter::from_fn(|| self.now(lane)).collect()
        }

        fn is_idle(&self, turns: usize) -> bool {
            let state = self.state();
            state.free == turns && state.lanes.is_empty()
        }
    }

    #[test]
    fn a_life_alone_has_half_and_each_of_several_leaves_one() {
        for (turns, wanted) in
            [(1, vec![1]), (2, vec![1, 1]), (3, vec![2, 1]), (8, vec![4, 2, 1, 1]), (64, vec![32, 16, 8, 4, 2, 1, 1])]
        {
            let all = Turns::new(turns);
            let held: Vec<_> = (0..wanted.len()).map(|life| all.all(&life.to_string())).collect();
            assert_eq!(held.iter().map(Vec::len).collect::<Vec<_>>(), wanted, "of {turns}");
            assert!(all.now("one more").is_none(), "of {turns}");
            drop(held);
            assert!(all.is_idle(turns), "nothing is kept of {turns}");
            assert!(all.now("one more").is_some(), "of {turns}");
        }
    }

    #[tokio::test]
    async fn whoever_has_the_fewest_is_next() {
        let turns = Turns::new(4);
        let (mut greedy, other) = (turns.all("greedy"), turns.now("other").unwrap());
        assert_eq!(greedy.len(), 2);
        let _last = turns.now("third").unwrap();
        let wait = |lane: &'static str| {
            let turns = turns.clone();
            tokio::spawn(async move { turns.take_as(lane).await })
        };
        let (more, new) = (wait("greedy"), wait("new"));
        while turns.state().lanes.values().map(|lane| lane.waiting.len()).sum::<usize>() < 2 {
            tokio::task::yield_now().await;
        }
        greedy.pop();
        let new = new.await.unwrap();
        assert!(!more.is_finished(), "it came first and has one already");
        drop((new, other));
        assert!(more.await.is_ok(), "two are free and it has one");
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_is_not_lost_to_whoever_waits_no_longer() {
        let turns = Turns::new(2);
        let held = turns.now("a").unwrap();
        for _ in 0..100 {
            let waited = tokio::time::timeout(Duration::from_millis(1), turns.take_as("a")).await;
            assert!(waited.is_err(), "its share is taken");
        }
        assert!(turns.state().lanes["a"].waiting.len() <= 1, "what was given up is swept");
        let mut dropped = Box::pin(turns.take_as("a"));
        assert!(dropped.as_mut().now_or_never().is_none());
        drop(held);
        // It has its turn by now, and never looks at it.
        assert_eq!(turns.state().free, 1);
        drop(dropped);
        assert!(turns.is_idle(2), "{turns:?}");
    }
}
