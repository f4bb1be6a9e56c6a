//! The root of trust: who issues credentials, who the tenants are, where keys and records are kept.

mod api_keys;
mod authenticate;
mod builder;
mod check;
mod config;
mod worker;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use authenticate::{Selection, Verified};
pub use builder::{Ready, RealmBuilder, WantsAudit, WantsDirectory, WantsIssuers, WantsKeys, WantsOperators};
pub use worker::Worker;

use crate::audit::Auditor;
use crate::clock::Clock;
use crate::corpus::CorpusVersions;
use crate::credential::{OperatorIssuer, TenantIssuer};
use crate::denial::Denial;
use crate::directory::TenantDirectory;
use crate::fence::Fence;
use crate::grant::Operators;
use crate::id::{Life, RealmName, Region, RowKey};
use crate::keys::{Keyring, RealmKeys};
use crate::metrics::Recorder;
use crate::ticket::TicketLedger;

/// The one configured root of trust of a process. Cheap to clone.
///
/// Every client is built from it, and everything scoped carries its tag and is compared where it is used: contexts,
/// tickets, keys and values of another realm are refused ([`Denial::ForeignRealm`]).
#[derive(Clone)]
pub struct Realm {
    shared: Arc<RealmShared>,
}

pub(crate) struct RealmShared {
    pub(crate) name: RealmName,
    pub(crate) tag: RealmTag,
    pub(crate) settings: Settings,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) directory: Arc<dyn TenantDirectory>,
    pub(crate) fence: Fence,
    pub(crate) issuers: Vec<TenantIssuer>,
    pub(crate) operator_issuers: Vec<OperatorIssuer>,
    pub(crate) keyring: Keyring,
    pub(crate) keys: RealmKeys,
    pub(crate) auditor: Auditor,
    pub(crate) versions: Arc<dyn CorpusVersions>,
    pub(crate) ledger: Option<Arc<dyn TicketLedger>>,
    pub(crate) recorder: Arc<dyn Recorder>,
    /// Which life a row key was first seen with: a directory that gives one row key to two lives is refused, since row
    /// level security could not tell them apart.
    row_keys: Mutex<HashMap<RowKey, Life>>,
    closed: AtomicBool,
}

/// Bounds of a realm, each with a default.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) region: Region,
    pub(crate) fence_age: Duration,
    pub(crate) key_age: Duration,
    pub(crate) max_request: Duration,
    pub(crate) max_ticket: Duration,
    pub(crate) patience: Duration,
}

/// What everything scoped carries of its realm: equal in every process of a deployment, different between realms, of
/// the same name even.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RealmTag([u8; 16]);

impl RealmTag {
    pub(crate) const fn of_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Debug for RealmTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RealmTag({})", data_encoding::HEXLOWER.encode(&self.0[..4]))
    }
}

impl Realm {
    /// Starts building a realm; its name is the same in every process of the deployment.
    #[must_use]
    pub fn builder(name: RealmName) -> RealmBuilder<WantsDirectory> {
        RealmBuilder::new(name)
    }

    /// The realm's name.
    #[must_use]
    pub fn name(&self) -> &RealmName {
        &self.shared.name
    }

    /// What everything scoped carries of this realm.
    #[must_use]
    pub fn tag(&self) -> RealmTag {
        self.shared.tag
    }

    /// The operators' door.
    #[must_use]
    pub fn operators(&self) -> Operators {
        Operators::new(Arc::clone(&self.shared))
    }

    /// The workers' door, for job tickets.
    #[must_use]
    pub fn worker(&self) -> Worker {
        Worker::new(Arc::clone(&self.shared))
    }

    /// Says that something about a life may have changed. Only a hint: the next use of one of its contexts asks the
    /// directory. Safety does not hang on it.
    pub fn hint(&self, life: Life) {
        self.shared.fence.hint(life);
    }

    /// Makes everything recorded so far durable.
    ///
    /// # Errors
    /// [`Denial::AuditUnavailable`] when the sink does not take it in time.
    pub async fn flush(&self) -> Result<(), Denial> {
        self.shared.auditor.flush().await
    }

    /// Closes the realm: every context, ticket and client of it is refused from now on, and the audit log is written
    /// out. Idempotent. Dropped before it answers, the realm is closed and the log is still being written by its thread.
    ///
    /// # Errors
    /// [`Denial::AuditUnavailable`] when the sink does not take the rest in time.
    pub async fn close(&self) -> Result<(), Denial> {
        self.shared.closed.store(true, Ordering::Release);
        self.shared.auditor.close().await
    }

    pub(crate) const fn shared(&self) -> &Arc<RealmShared> {
        &self.shared
    }
}

impl fmt::Debug for Realm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Realm({}, {:?})", self.shared.name, self.shared.tag)
    }
}

impl fmt::Debug for RealmShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Realm({}, {:?})", self.name, self.tag)
    }
}

impl RealmShared {
    pub(crate) fn ensure_open(&self) -> Result<(), Denial> {
        if self.closed.load(Ordering::Acquire) {
            Err(Denial::RealmClosed)
        } else if self.auditor.is_dead() {
            Err(Denial::AuditUnavailable)
        } else {
            Ok(())
        }
    }

    /// Refuses a row key that belongs to another life.
    pub(crate) fn claim_row_key(&self, key: &RowKey, life: Life) -> Result<(), Denial> {
        let mut seen = self.row_keys.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.get(key) {
            Some(owner) if *owner != life => Err(Denial::StoreBreach),
            Some(_) => Ok(()),
            None => {
                seen.insert(key.clone(), life);
                Ok(())
            }
        }
    }
}
