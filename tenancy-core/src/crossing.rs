//! A grant that was let through to one store: what an operator's statement begins with.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::audit::{AuditEvent, Lane, Outcome};
use crate::denial::Denial;
use crate::directory::{Lookup, TenantRecord};
use crate::fence::{self, Asked, FenceSlot, standing_allows};
use crate::gate::Gate;
use crate::grant::CrossTenantGrant;
use crate::metrics::Metric;
use crate::realm::RealmShared;

/// A use of a grant at one store, on record. Made by [`CrossTenantGrant::cross`] only; it borrows the grant, so it ends
/// with it.
///
/// A store asks [`check`](Self::check) before everything it does in the operator's name.
pub struct Crossing<'g> {
    grant: &'g CrossTenantGrant,
    trail: CrossingTrail,
    tenant: Option<Found>,
}

/// The tenant that a grant reaches, and what is asked about it again and again.
struct Found {
    record: TenantRecord,
    fence: Arc<FenceSlot>,
}

impl CrossTenantGrant {
    /// Lets the grant through to a store, for as many statements as it lives.
    ///
    /// # Cross-tenant access
    /// What the store does for the crossing reaches data of tenants that did not present a credential. One record, with
    /// the operator, the reason and the case, is durable in the operators' chain before this returns, and every affected
    /// tenant lists it.
    ///
    /// # Errors
    /// [`Denial::ForeignRealm`], [`GrantFault::Expired`](crate::GrantFault::Expired),
    /// [`GrantFault::Revoked`](crate::GrantFault::Revoked), [`GrantFault::OutOfReach`](crate::GrantFault::OutOfReach) for
    /// one that was opened for a corpus; for one tenant also [`Denial::TenantErased`],
    /// [`Denial::TenantSuspended`], [`Denial::WrongRegion`] and [`Denial::DirectoryUnavailable`]. All recorded; and
    /// [`Denial::AuditUnavailable`]. Dropped while it looks: recorded as `cancelled`. Dropped later: the use may be on
    /// record without having happened.
    pub async fn cross(&self, gate: &Gate, action: &'static str) -> Result<Crossing<'_>, Denial> {
        let store = Some(gate.store());
        let event = AuditEvent { store, ..self.event(action, self.life(), Outcome::Done) };
        let trail = CrossingTrail::new(Arc::clone(&self.realm), event);
        let tenant = trail.on_record(action, self.find(gate)).await?;
        self.realm.auditor.durable(Lane::Operators, trail.event.clone()).await?;
        Ok(Crossing { grant: self, trail, tenant })
    }

    async fn find(&self, gate: &Gate) -> Result<Option<Found>, Denial> {
        self.ensure_at(gate)?;
        self.ensure_for_tenants()?;
        let Some(life) = self.life() else { return Ok(None) };
        let realm = &self.realm;
        let asked = Asked::now(&*realm.clock);
        let found = fence::find(&*realm.directory, realm.settings.patience, Lookup::life(life)).await?;
        // Gone from the directory is gone.
        let record = found.ok_or(Denial::TenantErased)?;
        standing_allows(record.standing())?;
        realm.claim_row_key(record.row_key(), life)?;
        gate.ensure_home(&record)?;
        let fence = realm.fence.slot(life, record.standing(), asked);
        Ok(Some(Found { record, fence }))
    }
}

impl Crossing<'_> {
    /// The one tenant it reaches, as the directory had it when it was let through; `None` for every tenant.
    #[must_use]
    pub fn tenant(&self) -> Option<&TenantRecord> {
        self.tenant.as_ref().map(|found| &found.record)
    }

    /// How long it may still be used.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.grant.remaining()
    }

    /// Whether it may be used now: the realm is open, the grant is neither expired nor revoked, and its one tenant may be
    /// served, asking the directory where the last answer is getting old.
    ///
    /// # Errors
    /// As [`CrossTenantGrant::cross`], and [`Denial::FenceStale`]; recorded. Dropped: recorded as `cancelled`.
    pub async fn check(&self, action: &'static str) -> Result<(), Denial> {
        self.trail.on_record(action, self.may_go_on()).await
    }

    async fn may_go_on(&self) -> Result<(), Denial> {
        self.grant.ensure()?;
        match &self.tenant {
            Some(found) => self.grant.realm.fence.check(&found.fence).await,
            None => Ok(()),
        }
    }

    /// What records, for work that outlives the call.
    #[must_use]
    pub const fn trail(&self) -> &CrossingTrail {
        &self.trail
    }
}

impl fmt::Debug for Crossing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crossing").field("operator", self.grant.operator()).finish_non_exhaustive()
    }
}

/// Records what becomes of a [`Crossing`], in the operators' chain and shown to the affected tenants. It opens nothing.
#[derive(Clone)]
pub struct CrossingTrail {
    realm: Arc<RealmShared>,
    event: AuditEvent,
}

impl CrossingTrail {
    pub(crate) const fn new(realm: Arc<RealmShared>, event: AuditEvent) -> Self {
        Self { realm, event }
    }

    /// Records a denial and gives it back.
    #[must_use]
    pub fn refuse(&self, action: &'static str, denial: Denial) -> Denial {
        self.realm.recorder.count(Metric::Denied { rule: denial.rule() });
        self.record(action, Outcome::Denied, Some(denial.rule()));
        denial
    }

    /// Records a failure, with a fixed word in the place of the rule.
    pub fn failed_as(&self, action: &'static str, what: &'static str) {
        self.record(action, Outcome::Failed, Some(what));
    }

    fn record(&self, action: &'static str, outcome: Outcome, rule: Option<&'static str>) {
        let at = self.realm.clock.now();
        let event = AuditEvent { action, outcome, rule, at, ..self.event.clone() };
        self.realm.auditor.record(Lane::Operators, event);
    }

    /// Sees to it that a check ends on record when it refuses, or is dropped: its place is reserved first.
    pub(crate) async fn on_record<T>(
        &self,
        action: &'static str,
        check: impl Future<Output = Result<T, Denial>>,
    ) -> Result<T, Denial> {
        let mut place = self.realm.begin(Lane::Operators, action).await?;
        if let Some(operator) = &self.event.actor {
            place.by(operator, None);
        }
        let checked = check.await;
        place.waive();
        checked.map_err(|denial| self.refuse(action, denial))
    }
}

impl fmt::Debug for CrossingTrail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CrossingTrail")
    }
}
