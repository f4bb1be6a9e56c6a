//! Values that are given although they are no longer fresh, and computed anew behind it.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::CacheError;
use crate::parts::EntryParts;
use crate::slot::Slot;
use crate::tenant_layer::{Look, Seen, TenantLayer};

impl<P, V> TenantLayer<P, V>
where
    P: EntryParts,
    V: Serialize + DeserializeOwned + Send + Sync + 'static,
{
    /// As [`get_or_try_compute`](Self::get_or_try_compute), but a value that was made longer ago than `fresh` is given at
    /// once all the same, and a task computes it anew: one at a time for one key, and no longer than the context lives. What
    /// the task's computation fails with is nobody's, and the value stays until its time is up.
    ///
    /// Only time makes a value stale here. What was invalidated or flushed, or is of older documents where the layer follows
    /// them, is not given.
    ///
    /// Dropped, it takes a computation along that nobody was given a value for; a task that was begun goes on.
    ///
    /// # Errors
    /// As [`get_or_try_compute`](Self::get_or_try_compute).
    ///
    /// # Panics
    /// Outside a tokio runtime, when there is a value to compute anew.
    pub async fn get_or_revalidate<E, C, F>(&self, parts: &P, fresh: Duration, compute: C) -> Result<V, E>
    where
        C: FnOnce() -> F + Send + 'static,
        F: Future<Output = Result<V, E>> + Send + 'static,
        E: From<CacheError> + Send + 'static,
    {
        match self.look(parts).await? {
            Look::Seen(Seen { kept, slot }) => {
                if kept.age >= fresh {
                    drop(tokio::spawn(renew(slot, fresh, compute)));
                }
                Ok(kept.value)
            }
            Look::Miss(slot) => Ok(slot.take_turn(compute).await?.0),
            Look::Bypass(_) => compute().await,
        }
    }
}

async fn renew<V, E, C, F>(slot: Slot<V>, fresh: Duration, compute: C)
where
    V: Serialize + DeserializeOwned + Send + Sync,
    C: FnOnce() -> F + Send,
    F: Future<Output = Result<V, E>> + Send,
    E: From<CacheError> + Send,
{
    let remaining = slot.scope.pass.context().remaining();
    let _renewed = tokio::time::timeout(remaining, slot.renew(fresh, compute)).await;
}
