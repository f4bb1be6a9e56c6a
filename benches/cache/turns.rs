//! Ways that take turns call by call.
//!
//! How long a server on the same machine takes to wake up depends on where the system put whom for the moment, which is
//! several times what is measured here. One caller that calls now in one way and now in the other meets it in both.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::{Arc, Round, answer};

/// The times of each of the ways, for as long as the round lasts. What comes before a call is not in its time.
pub(crate) async fn measure<T, B, C, Before, Call>(ways: &'static [&str], round: Round, before: B, call: C) -> String
where
    T: Send,
    B: Fn(&'static str, usize) -> Before + Clone + Send + 'static,
    Before: Future<Output = T> + Send,
    C: Fn(&'static str, usize, T) -> Call + Clone + Send + 'static,
    Call: Future<Output = ()> + Send,
{
    let times = Arc::new([const { Mutex::new(Vec::new()) }; 2]);
    let (turn, kept) = (Arc::new(AtomicUsize::new(0)), times.clone());
    let before = move |tenant| {
        let turn = turn.fetch_add(1, Ordering::Relaxed) % ways.len();
        let ready = before(ways[turn], tenant);
        async move { (turn, ready.await) }
    };
    let call = move |tenant, (turn, ready): (usize, T)| {
        let (called, kept) = (call(ways[turn], tenant, ready), kept.clone());
        async move {
            let start = Instant::now();
            called.await;
            kept[turn].lock().unwrap().push(start.elapsed());
        }
    };
    drop(round.run(before, call).await);
    let answers = ways.iter().zip(&*times).map(|(way, times)| {
        let mut times = times.lock().unwrap();
        times.sort_unstable();
        format!("\"{way}\":{}", answer(&times))
    });
    format!("{{{}}}", answers.collect::<Vec<_>>().join(","))
}
