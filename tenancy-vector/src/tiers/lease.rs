//! Moves that nobody goes on with: writes are not noted for them for ever.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::placement::Placement;

/// The moves that this process writes beside, where each stood at the last look and since when. A mover shows with every step
/// that it goes on, so no clock is asked but this one, for how long nothing happens.
#[derive(Clone, Default)]
pub(super) struct Watch(Arc<Mutex<HashMap<String, (Placement, Instant)>>>);

impl Watch {
    /// What to set in the place of a placement where its move has stood still for as long as the lease.
    pub(super) fn abandoned(&self, partition: &str, at: Placement, lease: Duration) -> Option<Placement> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(given_up) = at.given_up() else {
            seen.remove(partition);
            return None;
        };
        match seen.get(partition) {
            Some((before, since)) if *before == at => (since.elapsed() >= lease).then_some(given_up),
            Some(_) | None => {
                if seen.len() >= MOST {
                    // Of lives that are hardly written any more.
                    seen.retain(|_, (_, since)| since.elapsed() < lease);
                }
                seen.insert(partition.to_owned(), (at, Instant::now()));
                None
            }
        }
    }
}

const MOST: usize = 1024;

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::super::placement::Stage;
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_move_is_given_up_when_it_stands_still_and_not_before() {
        let (watch, lease) = (Watch::default(), Duration::from_secs(60));
        let mover = Uuid::from_u128(7);
        let steps = [
            Placement::FIRST.at(mover, Stage::Begun),
            Placement::FIRST.at(mover, Stage::Copying(None)),
            Placement::FIRST.at(mover, Stage::Copying(Some(mover))),
            Placement::FIRST.at(mover, Stage::CatchingUp),
            Placement::FIRST.at(mover, Stage::CatchingUp).beaten(),
            Placement::FIRST.at(mover, Stage::Paused),
        ];
        for at in steps {
            assert!(watch.abandoned("a", at, lease).is_none(), "{at:?}");
            tokio::time::advance(lease - Duration::from_secs(1)).await;
            assert!(watch.abandoned("a", at, lease).is_none() && watch.abandoned("b", at, lease).is_none(), "{at:?}");
        }
        for at in steps {
            assert!(watch.abandoned("a", at, lease).is_none(), "{at:?}");
            tokio::time::advance(lease).await;
            let given_up = watch.abandoned("a", at, lease);
            assert_eq!(given_up, Some(Placement::FIRST.at(mover, Stage::Clearing)), "{at:?}");
            assert!(given_up.unwrap().reads_as(&at), "it stays where it is read");
        }
        for at in [Placement::FIRST, Placement::FIRST.turned(mover)] {
            assert!(watch.abandoned("a", at, lease).is_none());
            tokio::time::advance(lease * 2).await;
            assert!(watch.abandoned("a", at, lease).is_none(), "there is nothing to give up: {at:?}");
        }
        watch.abandoned("b", Placement::FIRST, lease);
        assert!(watch.0.lock().unwrap().is_empty(), "nothing is kept of what does not move");
    }
}
