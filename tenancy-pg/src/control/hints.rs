//! Word of changes in the directory, so that fences look again before their answers get old.

use std::fmt;
use std::time::{Duration, Instant};

use sqlx::postgres::{PgListener, PgPool};
use tenancy_core::{Life, Realm};
use tokio::task::JoinHandle;

use crate::error::PgError;

/// Passes word of changes on to a realm, as long as this value is kept.
///
/// Only hints: a fence that hears one asks the directory again at its next use, and one that hears none does so when its
/// answer gets old. Anybody who may connect to the control database can send some, so at most a hundred a second are
/// passed on, and a hint can't make an answer last longer or say anything else.
#[must_use = "dropped, no word is passed on"]
pub struct DirectoryHints {
    task: JoinHandle<()>,
}

pub(super) async fn forward(pool: &PgPool, realm: &Realm) -> Result<DirectoryHints, PgError> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(CHANNEL).await?;
    let realm = realm.clone();
    Ok(DirectoryHints { task: tokio::spawn(async move { listen(listener, &realm).await }) })
}

async fn listen(mut listener: PgListener, realm: &Realm) {
    let mut left = Allowance::new();
    loop {
        match listener.recv().await {
            Ok(heard) => {
                if let Some(life) = Life::parse(heard.payload()).ok().filter(|_| left.take()) {
                    realm.hint(life);
                }
            }
            Err(sqlx::Error::PoolClosed) => return,
            // Nothing hangs on it: what is missed meanwhile is found out when the answers get old.
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// So many in each second.
struct Allowance {
    since: Instant,
    left: u32,
}

impl Allowance {
    fn new() -> Self {
        Self { since: Instant::now(), left: A_SECOND }
    }

    fn take(&mut self) -> bool {
        if self.since.elapsed() > Duration::from_secs(1) {
            *self = Self::new();
        }
        let taken = self.left > 0;
        self.left = self.left.saturating_sub(1);
        taken
    }
}

impl Drop for DirectoryHints {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for DirectoryHints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DirectoryHints")
    }
}

const CHANNEL: &str = "tenancy_directory";
const A_SECOND: u32 = 100;
const PAUSE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_hints_is_cut_off() {
        let mut left = Allowance::new();
        assert_eq!((0..1000).filter(|_| left.take()).count(), 100);
        left.since -= Duration::from_secs(2);
        assert!(left.take());
    }
}
