//! Dropping futures half-way, on purpose and at every place.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// Polls a future at most `times` times, each time when it is woken, and drops it then. `None` when it was not ready by
/// that time.
pub async fn poll_times<F: Future>(future: F, times: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut polled = 0;
    poll_fn(|cx| {
        if polled == times {
            return Poll::Ready(None);
        }
        polled += 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if polled == times => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Drops a future after its first poll, then a new one after its second, and so on until one finishes; calls `after`
/// each time. Returns how many polls the last one took.
///
/// # Panics
/// When none finishes within a thousand polls.
pub async fn drop_at_every_poll<T, F: Future<Output = T>>(
    mut make: impl FnMut() -> F,
    mut after: impl AsyncFnMut(usize, Option<T>),
) -> usize {
    for polls in 1..=1000 {
        let output = poll_times(make(), polls).await;
        let finished = output.is_some();
        after(polls, output).await;
        if finished {
            return polls;
        }
    }
    panic!("the future is not ready after a thousand polls");
}
