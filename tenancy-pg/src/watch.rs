//! Looking again on a timer.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::database::{Database, Inspected, Shared};
use crate::error::PgError;

/// What a fault means that was found while the service runs. Either way it is on record, in nobody's chain, under the
/// action `pg.watch` with one of the rules `pg.inspection`, `pg.pooler`, `pg.signing_key`, `pg.unreachable` and, for what is
/// wrong with a replica, `pg.replica`. The last three refuse nothing: a key that is not accepted is refused by the server,
/// and reads go to the primary while a replica is not to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnFailure {
    /// Nothing more: the database is used on.
    Alarm,
    /// No handle begins anything until a later look finds no fault. A look that could not be had changes nothing.
    Refuse,
}

/// Looks on until it is dropped.
#[must_use = "a watch that is dropped looks no more"]
pub struct Watch {
    task: JoinHandle<()>,
}

impl Database<Inspected> {
    /// Inspects the database, and verifies what stands between, at this interval.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn watch(&self, every: Duration, on_failure: OnFailure) -> Watch {
        let shared = Arc::downgrade(self.shared());
        Watch { task: tokio::spawn(look_on(shared, every, on_failure)) }
    }
}

async fn look_on(shared: Weak<Shared>, every: Duration, on_failure: OnFailure) {
    loop {
        tokio::time::sleep(every).await;
        let Some(shared) = shared.upgrade() else { return };
        let looked = shared.look().await;
        let rule = match &looked {
            Ok(inspection) if inspection.fatal().next().is_none() => None,
            Ok(_fatal) => Some("pg.inspection"),
            Err(PgError::PoolerMismatch) => Some("pg.pooler"),
            Err(PgError::SigningKey(_)) => Some("pg.signing_key"),
            Err(_other) => Some("pg.unreachable"),
        };
        if let Some(rule) = rule {
            shared.gate.failed_as("pg.watch", rule);
            shared.gate.count(rule);
        }
        if rule.is_none() || on_failure == OnFailure::Refuse {
            let _told = shared.settle(looked);
        }
        if rule.is_none() && shared.look_at_replica().await.is_err() {
            shared.gate.failed_as("pg.watch", "pg.replica");
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}
