//! From a thread that may block to a driver that may not.

use std::future::Future;
use std::io;
use std::sync::mpsc::sync_channel;
use std::thread;

use futures_core::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

/// A thread with a runtime of its own, which ends with this value.
///
/// The audit writer calls its sink on a plain thread, and a listing comes from a thread that belongs to somebody else's
/// runtime, where starting another one panics. Neither matters here: the work runs on this thread, and the caller waits
/// on a channel.
pub(super) struct Bridge {
    work: mpsc::UnboundedSender<BoxFuture<'static, ()>>,
}

impl Bridge {
    pub(super) fn start() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (work, mut given) = mpsc::unbounded_channel();
        let take_turns = async move {
            while let Some(one) = given.recv().await {
                tokio::spawn(one);
            }
        };
        thread::Builder::new().name("tenancy-pg-audit".to_owned()).spawn(move || runtime.block_on(take_turns))?;
        Ok(Self { work })
    }

    /// Runs the work and blocks until it is over. `None` if it panicked.
    pub(super) fn block<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Option<T> {
        let (answer, answered) = sync_channel(1);
        let work = async move { drop(answer.send(work.await)) };
        self.work.send(Box::pin(work)).ok()?;
        answered.recv().ok()
    }

    /// Runs the work and waits. `None` if it panicked. Dropped: the work goes on.
    pub(super) async fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        let work = async move { drop(answer.send(work.await)) };
        self.work.send(Box::pin(work)).ok()?;
        answered.await.ok()
    }
}
