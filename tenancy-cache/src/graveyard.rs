//! Where partitions are dropped.

use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, sleep};
use std::time::Duration;

/// Drops things where nobody waits for it: giving back a million entries takes time. All of them on one thread, which
/// the first one starts and which ends with this value.
pub(crate) struct Graveyard<T>(OnceLock<SyncSender<T>>);

impl<T: Send + 'static> Graveyard<T> {
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Drops a thing elsewhere; here when [`WAITING`] of them wait already, so that memory that is being given back
    /// can't pile up, or when there is no thread to be had.
    pub(crate) fn bury(&self, thing: T) {
        drop(self.0.get_or_init(dig).try_send(thing));
    }
}

/// Without a thread the receiving end is gone, and whoever sends gets back what it sent.
fn dig<T: Send + 'static>() -> SyncSender<T> {
    let (sender, things) = sync_channel(WAITING);
    let bury = move || {
        while let Ok(thing) = things.recv() {
            // Who is woken may be put in the place of who woke it, which would wait for the memory after all.
            sleep(PAUSE);
            drop(thing);
            things.try_iter().for_each(drop);
        }
    };
    drop(Builder::new().name("tenancy-cache-drop".to_owned()).spawn(bury));
    sender
}

const PAUSE: Duration = Duration::from_micros(100);
/// How many may wait for the thread.
pub(crate) const WAITING: usize = 8;

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread::{ThreadId, current};

    use super::*;

    /// Tells where it was dropped, after it was let go.
    struct Body {
        dropped_on: Sender<ThreadId>,
        let_go: Option<Receiver<()>>,
    }

    impl Drop for Body {
        fn drop(&mut self) {
            if let Some(let_go) = self.let_go.take() {
                let _let_go = let_go.recv();
            }
            self.dropped_on.send(current().id()).unwrap();
        }
    }

    #[test]
    fn one_thread_drops_them_and_a_crowd_is_dropped_where_it_comes_from() {
        let graveyard = Graveyard::new();
        let (dropped_on, threads) = channel();
        let (let_go, held) = channel();
        graveyard.bury(Body { dropped_on: dropped_on.clone(), let_go: Some(held) });
        for _ in 0..100 {
            graveyard.bury(Body { dropped_on: dropped_on.clone(), let_go: None });
        }
        drop(dropped_on);
        let here: Vec<_> = threads.try_iter().collect();
        assert!(here.iter().all(|thread| *thread == current().id()), "the thread is held up by the first");
        assert!((100 - WAITING..=100 - WAITING + 1).contains(&here.len()), "{}", here.len());

        let_go.send(()).unwrap();
        let there: Vec<_> = threads.iter().collect();
        assert_eq!(here.len() + there.len(), 101, "every one is dropped");
        assert!(there.iter().all(|thread| *thread == there[0] && *thread != current().id()), "on one thread");
    }
}
