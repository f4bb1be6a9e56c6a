//! Authority across tenants: an operator's credential, a reason, a case, a bound on reach and time, and a record first.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use crate::audit::{AuditEvent, Lane, Outcome};
use crate::credential::{Credential, CredentialKind, verify_operator_token};
use crate::denial::{CredentialFault, Denial, GrantFault};
use crate::directory::Lookup;
use crate::fence;
use crate::gate::Gate;
use crate::id::{CorpusName, Life, RequestId, SubjectId, TenantId};
use crate::metrics::Metric;
use crate::realm::RealmShared;

/// The operators' door of a realm. See [`Realm::operators`](crate::Realm::operators).
#[derive(Clone, Debug)]
pub struct Operators {
    realm: Arc<RealmShared>,
}

/// How far a grant reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reach {
    /// One tenant in its present life.
    One(TenantId),
    /// Every tenant, for reports over them. Never opens content.
    Every,
    /// A corpus that every tenant reads, to change its documents. Reaches no tenant's data.
    Corpus(CorpusName),
}

/// An operator's authority to look across the boundary, for a stated reason and a short time.
///
/// Made by [`Operators::open`] only, after its record is durable. Each use is recorded before it happens, and the
/// affected tenant sees the records in its own listing.
pub struct CrossTenantGrant {
    pub(crate) realm: Arc<RealmShared>,
    operator: SubjectId,
    reach: ResolvedReach,
    reason: String,
    request: RequestId,
    deadline: Duration,
    revoked: AtomicBool,
}

#[derive(Clone, PartialEq, Eq)]
enum ResolvedReach {
    One(Life),
    Every,
    Corpus(CorpusName),
}

impl Operators {
    pub(crate) const fn new(realm: Arc<RealmShared>) -> Self {
        Self { realm }
    }

    /// Opens a grant.
    ///
    /// # Cross-tenant access
    /// The grant reaches data of tenants that did not present a credential. It needs an *operator* issuer's token, a
    /// reason of at least ten characters and a case reference, lives at most an hour, and is on record (operator,
    /// tenant, reason, case) before this returns.
    ///
    /// # Errors
    /// [`Denial::Credential`] for a token that is not an operator's, [`Denial::Grant`] for a missing reason or case or a
    /// time out of bounds, [`Denial::TenantUnknown`], [`Denial::AuditUnavailable`]. All recorded where a record can be
    /// written. Dropped: the grant may be on record without having been used.
    pub async fn open(
        &self,
        credential: &Credential,
        reason: &str,
        case_reference: &str,
        reach: Reach,
        ttl: Duration,
    ) -> Result<CrossTenantGrant, Denial> {
        let check = self.realm.begin(Lane::Operators, "grant.open").await?;
        match self.checked(credential, reason, case_reference, reach, ttl).await {
            Ok(grant) => {
                check.waive();
                let event = grant.event("grant.open", grant.life(), Outcome::Done);
                self.realm.auditor.durable(Lane::Operators, event).await?;
                Ok(grant)
            }
            Err(denial) => Err(check.deny(denial)),
        }
    }

    async fn checked(
        &self,
        credential: &Credential,
        reason: &str,
        case_reference: &str,
        reach: Reach,
        ttl: Duration,
    ) -> Result<CrossTenantGrant, Denial> {
        let CredentialKind::Bearer(token) = credential.kind() else {
            return Err(GrantFault::NotAnOperator.into());
        };
        let clock = &*self.realm.clock;
        let verified = verify_operator_token(&self.realm.operator_issuers, token, clock).await.map_err(|fault| {
            // A tenant issuer's token at the operators' door is told apart for the operator.
            if fault == CredentialFault::IssuerUnknown { GrantFault::NotAnOperator.into() } else { Denial::from(fault) }
        })?;
        if readable(reason) < MIN_REASON {
            return Err(GrantFault::ReasonMissing.into());
        }
        if readable(case_reference) == 0 {
            return Err(GrantFault::CaseMissing.into());
        }
        if ttl.is_zero() || ttl > MAX_TTL {
            return Err(GrantFault::TooLong.into());
        }
        let reach = match reach {
            Reach::Every => ResolvedReach::Every,
            Reach::Corpus(name) => ResolvedReach::Corpus(name),
            Reach::One(id) => {
                let lookup = Lookup::id(&id);
                let found = fence::find(&*self.realm.directory, self.realm.settings.patience, lookup).await?;
                ResolvedReach::One(found.ok_or(Denial::TenantUnknown)?.life())
            }
        };
        let mut reason = format!("{} [{}]", reason.trim(), case_reference.trim());
        if let ResolvedReach::Corpus(name) = &reach {
            reason.insert_str(0, &format!("corpus {name}: "));
        }
        let token_left = verified.expires.duration_since(clock.now()).unwrap_or_default();
        Ok(CrossTenantGrant {
            realm: Arc::clone(&self.realm),
            operator: verified.subject,
            reach,
            reason,
            request: RequestId::random(),
            deadline: clock.monotonic() + ttl.min(token_left),
            revoked: AtomicBool::new(false),
        })
    }
}

impl CrossTenantGrant {
    /// Who holds it.
    #[must_use]
    pub const fn operator(&self) -> &SubjectId {
        &self.operator
    }

    /// How long it may still be used.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_sub(self.realm.clock.monotonic())
    }

    /// Ends the grant before its time: every use from now on is refused, in whatever hands it is, and that it was ended is
    /// recorded. Idempotent.
    pub fn revoke(&self) {
        if !self.revoked.swap(true, Ordering::AcqRel) {
            let event = self.event("grant.revoke", self.life(), Outcome::Done);
            self.realm.auditor.record(Lane::Operators, event);
        }
    }

    /// Uses the grant once at a store: `life` is the tenant touched, `None` a report over all.
    ///
    /// # Cross-tenant access
    /// The record is durable before this returns; a store calls it before it touches anything.
    ///
    /// # Errors
    /// [`Denial::ForeignRealm`], [`GrantFault::Expired`], [`GrantFault::Revoked`], [`GrantFault::OutOfReach`], recorded;
    /// and [`Denial::AuditUnavailable`]. Dropped: the use may be on record without having happened.
    pub async fn exercise(&self, gate: &Gate, life: Option<Life>, action: &'static str) -> Result<(), Denial> {
        let allowed = self.ensure_at(gate).and_then(|()| self.ensure_for_tenants()).and_then(|()| {
            // A grant for every tenant is for reports over them: it opens no single one.
            if life == self.life() { Ok(()) } else { Err(GrantFault::OutOfReach.into()) }
        });
        if let Err(denial) = allowed {
            self.realm.recorder.count(Metric::Denied { rule: denial.rule() });
            let event = AuditEvent { rule: Some(denial.rule()), ..self.event(action, life, Outcome::Denied) };
            self.realm.auditor.record(Lane::Operators, event);
            return Err(denial);
        }
        let event = AuditEvent { store: Some(gate.store()), ..self.event(action, life, Outcome::Done) };
        self.realm.auditor.durable(Lane::Operators, event).await
    }

    /// As [`ensure`](Self::ensure), at a store of this realm.
    pub(crate) fn ensure_at(&self, gate: &Gate) -> Result<(), Denial> {
        if gate.realm_tag() == self.realm.tag { self.ensure() } else { Err(Denial::ForeignRealm) }
    }

    /// Whether it may be used now.
    pub(crate) fn ensure(&self) -> Result<(), Denial> {
        if self.revoked.load(Ordering::Acquire) {
            Err(GrantFault::Revoked.into())
        } else if self.remaining().is_zero() {
            Err(GrantFault::Expired.into())
        } else {
            Ok(())
        }
    }

    /// Whether it reaches tenants at all.
    pub(crate) fn ensure_for_tenants(&self) -> Result<(), Denial> {
        match self.reach {
            ResolvedReach::One(_) | ResolvedReach::Every => Ok(()),
            ResolvedReach::Corpus(_) => Err(GrantFault::OutOfReach.into()),
        }
    }

    /// Whether it was opened for a corpus.
    pub(crate) fn ensure_for(&self, corpus: &CorpusName) -> Result<(), Denial> {
        match &self.reach {
            ResolvedReach::Corpus(name) if name == corpus => Ok(()),
            ResolvedReach::Corpus(_) | ResolvedReach::One(_) | ResolvedReach::Every => {
                Err(GrantFault::OutOfReach.into())
            }
        }
    }

    /// The one tenant that it reaches.
    pub(crate) const fn life(&self) -> Option<Life> {
        match self.reach {
            ResolvedReach::One(life) => Some(life),
            ResolvedReach::Every | ResolvedReach::Corpus(_) => None,
        }
    }

    pub(crate) fn event(&self, action: &'static str, life: Option<Life>, outcome: Outcome) -> AuditEvent {
        let now: SystemTime = self.realm.clock.now();
        AuditEvent {
            life,
            everyone: self.life().is_none() && life.is_none(),
            actor: Some(self.operator.clone()),
            request: Some(self.request),
            reason: Some(self.reason.clone()),
            ..AuditEvent::new(action, outcome, now)
        }
    }
}

impl fmt::Debug for CrossTenantGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CrossTenantGrant").field("operator", &self.operator).finish_non_exhaustive()
    }
}

/// Letters and digits: what a person can read. Spaces of no width are none.
fn readable(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphanumeric()).count()
}

const MIN_REASON: usize = 10;
const MAX_TTL: Duration = Duration::from_secs(3600);
