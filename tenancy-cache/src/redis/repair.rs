//! Making an epoch, once for all who miss it at the same time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;

use super::options::RedisError;
use crate::epoch::Epoch;

/// The epochs that are being made. A thousand callers of a cold life would each write one otherwise, and go separate ways.
#[derive(Default)]
pub(super) struct Repairs(Mutex<HashMap<String, Arc<OnceCell<Epoch>>>>);

impl Repairs {
    /// The epoch that is made now, by whoever came first and does not give up.
    pub(super) async fn make<F>(&self, name: &str, make: impl Fn() -> F) -> Result<Epoch, RedisError>
    where
        F: Future<Output = Result<Epoch, RedisError>>,
    {
        let cell = Arc::clone(self.lock().entry(name.to_owned()).or_default());
        let made = cell.get_or_try_init(make).await.copied();
        let mut repairs = self.lock();
        if repairs.get(name).is_some_and(|current| Arc::ptr_eq(current, &cell)) {
            repairs.remove(name);
        }
        made
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<OnceCell<Epoch>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
