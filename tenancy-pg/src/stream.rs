//! A stream written as an async block that hands out items.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;

/// Runs `work` as it is polled and yields what it gives to the [`Outlet`]; an error ends the stream.
pub(crate) fn stream<'e, T, F>(work: impl FnOnce(Outlet<T>) -> F) -> BoxStream<'e, Result<T, sqlx::Error>>
where
    T: Send + 'e,
    F: Future<Output = Result<(), sqlx::Error>> + Send + 'e,
{
    let outlet = Outlet(Arc::default());
    let slot = Arc::clone(&outlet.0);
    Box::pin(Generated { work: Some(Box::pin(work(outlet))), slot })
}

/// Where the work of a [`stream`] puts its items.
pub(crate) struct Outlet<T>(Arc<Mutex<Option<T>>>);

impl<T> Outlet<T> {
    /// Hands out one item and goes on when the next one is asked for.
    pub(crate) async fn give(&self, item: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(item);
        let mut given = false;
        poll_fn(|_| if std::mem::replace(&mut given, true) { Poll::Ready(()) } else { Poll::Pending }).await;
    }
}

struct Generated<'e, T> {
    work: Option<BoxFuture<'e, Result<(), sqlx::Error>>>,
    slot: Arc<Mutex<Option<T>>>,
}

impl<T> Stream for Generated<'_, T> {
    type Item = Result<T, sqlx::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(work) = self.work.as_mut() else { return Poll::Ready(None) };
        let end = match work.as_mut().poll(cx) {
            Poll::Ready(end) => end,
            Poll::Pending => {
                let item = self.slot.lock().unwrap_or_else(PoisonError::into_inner).take();
                return item.map_or(Poll::Pending, |item| Poll::Ready(Some(Ok(item))));
            }
        };
        // Drops the work, and with it what it held, before the end is told.
        self.work = None;
        Poll::Ready(end.err().map(Err))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;

    use super::*;

    #[tokio::test]
    async fn items_come_in_order_and_the_error_last() {
        let mut items = stream(|out| async move {
            for n in 0..3 {
                tokio::task::yield_now().await;
                out.give(n).await;
            }
            Err(sqlx::Error::RowNotFound)
        });
        for n in 0..3 {
            assert_eq!(items.next().await.unwrap().unwrap(), n);
        }
        assert!(items.next().await.unwrap().is_err());
        assert!(items.next().await.is_none());
    }
}
