//! A future dropped after its k-th poll, for every k, leaves the next call clean and a record behind.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tenancy_core::Outcome;

use crate::house::{House, names, scaled};

/// Polls `k` times at most. `None`: it was dropped before it was done.
async fn polled<T>(k: usize, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut left = k;
    poll_fn(|cx| match left.checked_sub(1) {
        None => Poll::Ready(None),
        Some(less) => {
            left = less;
            match future.as_mut().poll(cx) {
                Poll::Ready(value) => Poll::Ready(Some(value)),
                Poll::Pending => {
                    // Again at once as well as when woken, so that the sweep sees every poll there can be.
                    if left == 0 {
                        cx.waker().wake_by_ref();
                    }
                    Poll::Pending
                }
            }
        }
    })
    .await
}

async fn sweep<T, F: Future<Output = T>>(house: &House, action: &str, call: impl Fn() -> F) {
    for round in 0..scaled(3) {
        for k in 0.. {
            let before = house.records(action).await.len();
            let outcome = polled(k, call()).await;
            let after = house.records(action).await;
            if outcome.is_some() {
                assert!(
                    after[before..].iter().all(|record| record.outcome() != Outcome::Cancelled),
                    "{action} was done"
                );
                break;
            }
            // What was begun and dropped is written down as such.
            if k > 0 {
                assert_eq!(after.len(), before + 1, "{action} dropped after {k} polls, round {round}");
                assert_eq!(after[before].outcome(), Outcome::Cancelled, "{action} dropped after {k} polls");
            }
            assert!(k < 100, "{action} is never done");
            let next = house.acme.call("read_file", r#"{"path":"own.txt"}"#).await;
            assert_eq!(next.unwrap().as_str(), "acme's own", "the call after {action} was dropped after {k} polls");
        }
    }
}

#[tokio::test]
async fn a_dropped_call_read_or_write_leaves_a_record_and_nothing_else() {
    let house = House::new().await;
    let files = house.acme.files().clone();
    sweep(&house, "write_file", || house.acme.call("write_file", r#"{"path":"w","text":"whole"}"#)).await;
    sweep(&house, "files.read", || files.read("own.txt")).await;
    sweep(&house, "files.write", || files.write("v", "whole")).await;
    sweep(&house, "files.delete", || async {
        files.delete("v").await.ok();
    })
    .await;
    // Writes that were dropped are made as a whole or not at all, and leave no temporary once they are through.
    let home = house.acme_home();
    for _ in 0..100 {
        if names(&home).iter().all(|name| !name.ends_with(".tmp")) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(names(&home).iter().all(|name| !name.ends_with(".tmp")), "{:?}", names(&home));
    assert_eq!(std::fs::read(home.join("w")).unwrap(), b"whole");
}
