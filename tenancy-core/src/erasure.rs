//! The contract of erasure: what every store must be able to do so that a tenant can be shown to be gone.
//!
//! ```text
//! Requested -> Fenced -> Drained -> Erased -> Verified
//! ```
//!
//! The run that walks these steps, the drain and the signed certificate belong to the life cycle and are not here yet;
//! stores implement their side today, and [`Realm::erase_store`] lets an operator call one of them.

use std::fmt;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;

use crate::audit::{AuditEvent, Lane, Outcome};
use crate::denial::Denial;
use crate::directory::{Lookup, Standing};
use crate::fence;
use crate::gate::Gate;
use crate::grant::CrossTenantGrant;
use crate::id::{Life, StoreName};
use crate::metrics::Metric;
use crate::realm::{Realm, RealmTag};
use crate::reason::{Reason, Tellable};
use crate::redacted::BoxError;

/// A store that can let go of a life.
#[async_trait]
pub trait Eraser: Send + Sync {
    /// The store.
    fn store(&self) -> StoreName;

    /// Deletes everything of the life. Idempotent and resumable; dropped, it may be called again.
    ///
    /// # Errors
    /// [`EraseError`]; a retry goes on where it stopped.
    async fn erase(&self, scope: ErasureScope<'_>) -> Result<(), EraseError>;

    /// Looks for what is left and says honestly what it found out.
    ///
    /// # Errors
    /// [`EraseError`] when the store can't be looked at; counts as [`StoreVerdict::Failed`].
    async fn verify(&self, scope: ErasureScope<'_>) -> Result<StoreVerdict, EraseError>;
}

/// Which life is to go. Built by this crate only, after the fence has stopped it.
#[derive(Clone, Copy, Debug)]
pub struct ErasureScope<'a> {
    realm: RealmTag,
    life: Life,
    borrowed: std::marker::PhantomData<&'a ()>,
}

impl ErasureScope<'_> {
    /// The realm.
    #[must_use]
    pub const fn realm(&self) -> RealmTag {
        self.realm
    }

    /// The life.
    #[must_use]
    pub const fn life(&self) -> Life {
        self.life
    }
}

/// How far an erasure has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ErasureStep {
    /// Asked for.
    Requested,
    /// No new context, ticket or call: every answer about the life is older than the erasure.
    Fenced,
    /// Nothing is in flight any more.
    Drained,
    /// Every store was asked to delete.
    Erased,
    /// Every store was looked at.
    Verified,
}

/// What a store can say about what is left, from best to worst.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreVerdict {
    /// Nothing was found, logically and physically.
    Verified,
    /// The key is destroyed; sealed bytes may be left in backups until then.
    KeyDestroyed {
        /// When the last backup that holds the wrap is gone.
        backup_horizon: Option<SystemTime>,
    },
    /// Not reachable any more, but the bytes are still there.
    LogicalOnly,
    /// Kept on purpose.
    RetainedByPolicy {
        /// Why.
        why: String,
    },
    /// The store can't show it.
    Unverifiable {
        /// Why.
        why: String,
    },
    /// It did not work, or something is left. Made by [`failed`](Self::failed) and [`told`](Self::told).
    #[non_exhaustive]
    Failed {
        /// Why, as far as that may be told.
        why: String,
    },
}

impl StoreVerdict {
    /// What can be said about two stores together: the worse of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        if other.rank() > self.rank() { other } else { self }
    }

    /// It did not work, and why: a text that was there before any tenant was, since it goes on record.
    #[must_use]
    pub fn failed(why: &'static str) -> Self {
        Self::Failed { why: why.to_owned() }
    }

    /// It did not work, and why, in the words of an error that may be told.
    #[must_use]
    pub fn told(error: impl Tellable) -> Self {
        Self::Failed { why: error.to_string() }
    }

    /// Whether it did not work.
    #[must_use]
    pub const fn is_failed(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }

    /// Why it is not better, where the store says so.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::RetainedByPolicy { why } | Self::Unverifiable { why } | Self::Failed { why } => Some(why),
            Self::Verified | Self::KeyDestroyed { .. } | Self::LogicalOnly => None,
        }
    }

    const fn rank(&self) -> u8 {
        match self {
            Self::Verified => 0,
            Self::KeyDestroyed { .. } => 1,
            Self::LogicalOnly => 2,
            Self::RetainedByPolicy { .. } => 3,
            Self::Unverifiable { .. } => 4,
            Self::Failed { .. } => 5,
        }
    }
}

/// A store failed to erase or to look.
#[derive(Debug, thiserror::Error)]
#[error("the store could not erase: {0}")]
pub struct EraseError(#[source] Reason);

impl EraseError {
    /// Wraps a driver's error, whose text is withheld.
    pub fn new(error: impl Into<BoxError>) -> Self {
        Self(Reason::foreign(error))
    }

    /// Wraps an error whose text may be told.
    #[must_use]
    pub fn told(error: impl Tellable) -> Self {
        Self(Reason::told(error))
    }

    /// A reason that may be told: a text that was there before any tenant was.
    #[must_use]
    pub const fn because(why: &'static str) -> Self {
        Self(Reason::text(why))
    }

    /// Why.
    #[must_use]
    pub const fn reason(&self) -> &Reason {
        &self.0
    }
}

impl From<EraseError> for StoreVerdict {
    fn from(error: EraseError) -> Self {
        Self::Failed { why: error.0.to_string() }
    }
}

impl Realm {
    /// Lets one store erase a life that the directory says is erased, and look.
    ///
    /// # Cross-tenant access
    /// Destroys a tenant's data. Needs a grant that reaches the life; that it is about to happen is on record before
    /// anything is deleted, and what came of it afterwards, with the reason that the store gives.
    ///
    /// # Errors
    /// [`Denial::NotVisible`] when the directory does not say that the life is erased, or does not know it: fence first,
    /// recorded. As [`CrossTenantGrant::exercise`] otherwise. Dropped: call it again.
    pub async fn erase_store(
        &self,
        grant: &CrossTenantGrant,
        life: Life,
        eraser: &dyn Eraser,
    ) -> Result<StoreVerdict, Denial> {
        let shared = self.shared();
        grant.exercise(&Gate::new(self, eraser.store()), Some(life), "erase.begin").await?;
        let lookup = Lookup::life(life);
        let found = fence::find(&*shared.directory, shared.settings.patience, lookup).await;
        // A directory restored from an old backup may not know the life, or still serve it: neither may be destroyed.
        let erased = found.and_then(|record| match record.map(|record| record.standing()) {
            Some(Standing::Erased) => Ok(()),
            _ => Err(Denial::NotVisible),
        });
        let event = |outcome, denial: Option<Denial>| AuditEvent {
            life: Some(life),
            store: Some(eraser.store()),
            actor: Some(grant.operator().clone()),
            rule: denial.map(|d| d.rule()),
            ..AuditEvent::new("erase", outcome, shared.clock.now())
        };
        if let Err(denial) = erased {
            shared.recorder.count(Metric::Denied { rule: denial.rule() });
            shared.auditor.record(Lane::Operators, event(Outcome::Denied, Some(denial)));
            return Err(denial);
        }
        let scope = ErasureScope { realm: shared.tag, life, borrowed: std::marker::PhantomData };
        let verdict = match eraser.erase(scope).await {
            Ok(()) => eraser.verify(scope).await.unwrap_or_else(StoreVerdict::from),
            Err(error) => error.into(),
        };
        let outcome = if verdict.is_failed() { Outcome::Failed } else { Outcome::Done };
        // What a store says of another verdict is its own text, for the operator who asked.
        let reason = verdict.why().filter(|_| verdict.is_failed()).map(str::to_owned);
        shared.auditor.durable(Lane::Operators, AuditEvent { reason, ..event(outcome, None) }).await?;
        Ok(verdict)
    }

    /// Destroys the keys of an erased life: whatever sealed bytes are left anywhere can't be opened any more.
    ///
    /// # Cross-tenant access
    /// As [`erase_store`](Self::erase_store).
    ///
    /// # Errors
    /// As [`erase_store`](Self::erase_store), and [`Denial::KeyUnavailable`].
    pub async fn destroy_keys(&self, grant: &CrossTenantGrant, life: Life) -> Result<StoreVerdict, Denial> {
        self.erase_store(grant, life, &KeyEraser { realm: self }).await
    }

    /// How long to wait after an erasure was entered in the directory until no context of the life can start anything:
    /// the fence's age.
    #[must_use]
    pub fn fence_horizon(&self) -> Duration {
        self.shared().settings.fence_age
    }
}

struct KeyEraser<'r> {
    realm: &'r Realm,
}

#[async_trait]
impl Eraser for KeyEraser<'_> {
    fn store(&self) -> StoreName {
        StoreName::new("keys")
    }

    async fn erase(&self, scope: ErasureScope<'_>) -> Result<(), EraseError> {
        self.realm.shared().keyring.destroy(scope.life).await.map(drop).map_err(EraseError::told)
    }

    async fn verify(&self, scope: ErasureScope<'_>) -> Result<StoreVerdict, EraseError> {
        match self.realm.shared().keyring.life(scope.life).await {
            Err(Denial::KeyDestroyed) => Ok(StoreVerdict::KeyDestroyed { backup_horizon: None }),
            Err(_) => Ok(StoreVerdict::Unverifiable { why: "the key store did not answer".to_owned() }),
            Ok(_) => Ok(StoreVerdict::failed("the keys are there")),
        }
    }
}

impl fmt::Debug for KeyEraser<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyEraser")
    }
}
