//! A check in progress whose outcome will be on record.

use std::sync::Arc;

use super::RealmShared;
use crate::audit::{AuditEvent, Lane, Outcome, Slot};
use crate::denial::Denial;
use crate::id::{Life, StoreName};
use crate::metrics::Metric;

/// Holds the place of a record while something is being checked. Dropped without an end it records `cancelled`.
#[must_use]
pub(crate) struct Check {
    realm: Arc<RealmShared>,
    action: &'static str,
    life: Option<Life>,
    slot: Option<Slot>,
}

impl RealmShared {
    /// Reserves the place of a record, before anything is checked.
    pub(crate) async fn begin(self: &Arc<Self>, lane: Lane, action: &'static str) -> Result<Check, Denial> {
        self.ensure_open()?;
        let slot = self.auditor.reserve(lane).await?;
        Ok(Check { realm: Arc::clone(self), action, life: None, slot: Some(slot) })
    }

    /// Records a denial of somebody who has no chain here.
    pub(crate) fn deny_anonymous(&self, action: &'static str, store: Option<StoreName>, denial: Denial) -> Denial {
        self.recorder.count(Metric::Denied { rule: denial.rule() });
        let event = AuditEvent { store, ..AuditEvent::denied(action, denial, self.clock.now()) };
        self.auditor.record(Lane::Anonymous, event);
        denial
    }
}

impl Check {
    /// Attributes what follows to a life.
    pub(crate) fn about(&mut self, life: Life) {
        self.life = Some(life);
    }

    /// Nothing to record.
    pub(crate) fn waive(mut self) {
        if let Some(slot) = self.slot.take() {
            slot.waive();
        }
    }

    /// Records the denial in the reserved place and gives it back.
    pub(crate) fn deny(mut self, denial: Denial) -> Denial {
        self.realm.recorder.count(Metric::Denied { rule: denial.rule() });
        self.settle(Outcome::Denied, Some(denial));
        denial
    }

    fn settle(&mut self, outcome: Outcome, denial: Option<Denial>) {
        if let Some(slot) = self.slot.take() {
            let event = AuditEvent {
                life: self.life,
                rule: denial.map(|d| d.rule()),
                ..AuditEvent::new(self.action, outcome, self.realm.clock.now())
            };
            slot.settle(event);
        }
    }
}

impl Drop for Check {
    fn drop(&mut self) {
        self.settle(Outcome::Cancelled, None);
    }
}
