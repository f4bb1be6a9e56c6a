//! A check in progress whose outcome will be on record.

use std::sync::Arc;

use super::RealmShared;
use crate::audit::{AuditEvent, Lane, Outcome, Slot};
use crate::denial::Denial;
use crate::id::{Life, StoreName, SubjectId};
use crate::metrics::Metric;

/// Sees to it that what is being checked ends on record. Dropped without an end it records `cancelled`.
#[must_use]
pub(crate) struct Check {
    realm: Arc<RealmShared>,
    lane: Lane,
    action: &'static str,
    life: Option<Life>,
    subject: Option<SubjectId>,
    actor: Option<SubjectId>,
    slot: Option<Slot>,
    ended: bool,
}

impl RealmShared {
    /// Reserves the place of a record, before anything is checked. Where everybody shares the lane and all places are
    /// held by other checks, the outcome will be counted instead.
    pub(crate) async fn begin(self: &Arc<Self>, lane: Lane, action: &'static str) -> Result<Check, Denial> {
        self.ensure_open()?;
        let slot = match lane {
            Lane::Anonymous => self.auditor.place(lane).await?,
            Lane::Operators | Lane::Life(_) => Some(self.auditor.reserve(lane).await?),
        };
        let realm = Arc::clone(self);
        Ok(Check { realm, lane, action, life: None, subject: None, actor: None, slot, ended: false })
    }

    /// Records a denial of somebody who has no chain here.
    pub(crate) fn deny_anonymous(&self, action: &'static str, store: Option<StoreName>, denial: Denial) -> Denial {
        self.recorder.count(Metric::Denied { rule: denial.rule() });
        let event = AuditEvent { store, ..AuditEvent::denied(action, denial, self.clock.now()) };
        self.auditor.record(Lane::Anonymous, event);
        denial
    }

    /// Records a failure of work that nobody with a chain here asked for.
    pub(crate) fn fail_anonymous(&self, action: &'static str, store: Option<StoreName>, what: &'static str) {
        let event = AuditEvent::new(action, Outcome::Failed, self.clock.now());
        self.auditor.record(Lane::Anonymous, AuditEvent { store, rule: Some(what), ..event });
    }
}

impl Check {
    /// Says who asks, once that is verified.
    pub(crate) fn by(&mut self, subject: &SubjectId, actor: Option<&SubjectId>) {
        self.subject = Some(subject.clone());
        self.actor = Some(actor.unwrap_or(subject).clone());
    }

    /// Attributes what follows to a life: its record goes into that tenant's own chain.
    pub(crate) fn about(&mut self, life: Life) {
        self.life = Some(life);
    }

    /// Nothing to record.
    pub(crate) fn waive(mut self) {
        self.ended = true;
        if let Some(slot) = self.slot.take() {
            slot.waive();
        }
    }

    /// Records the denial and gives it back.
    pub(crate) fn deny(mut self, denial: Denial) -> Denial {
        self.realm.recorder.count(Metric::Denied { rule: denial.rule() });
        self.end(Outcome::Denied, Some(denial));
        denial
    }

    fn end(&mut self, outcome: Outcome, denial: Option<Denial>) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let event = AuditEvent {
            life: self.life,
            subject: self.subject.take(),
            actor: self.actor.take(),
            rule: denial.map(|d| d.rule()),
            ..AuditEvent::new(self.action, outcome, self.realm.clock.now())
        };
        match (self.life, self.slot.take()) {
            (None, Some(slot)) => slot.settle(event),
            (None, None) => self.realm.auditor.record(self.lane, event),
            (Some(life), slot) => {
                self.realm.auditor.record(Lane::Life(life), event);
                drop(slot);
            }
        }
    }
}

impl Drop for Check {
    fn drop(&mut self) {
        self.end(Outcome::Cancelled, None);
    }
}
