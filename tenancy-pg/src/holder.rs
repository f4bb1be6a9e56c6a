//! In whose name a transaction runs.

use std::time::Duration;

use tenancy_core::{Crossing, Denial, Entered, Gate, Pass};

use crate::error::PgError;
use crate::guard::GUARD;
use crate::witness::Witness;

/// Who is asked whether a transaction may go on, and in whose chain its end is recorded.
pub(crate) enum Holder<'t> {
    /// A tenant, whose call has an entry until it has ended.
    Tenant(&'t Pass, Option<Entered<'t>>),
    /// An operator with a grant.
    Operator(&'t Crossing<'t>),
    /// Nobody.
    Nobody(&'t Gate),
}

impl Holder<'_> {
    /// How long the transaction may take; nobody's has no deadline.
    pub(crate) fn remaining(&self) -> Option<Duration> {
        match self {
            Self::Tenant(pass, _) => Some(pass.context().remaining()),
            Self::Operator(crossing) => Some(crossing.remaining()),
            Self::Nobody(_) => None,
        }
    }

    /// Checks deadline and standing, asking the directory where its answer is getting old. A denial is on record.
    pub(crate) async fn check(&mut self) -> Result<(), PgError> {
        match self {
            Self::Tenant(_, entered) => {
                let checked = entered.as_ref().ok_or(PgError::Interrupted)?.check_fresh().await;
                checked.map_err(|denial| self.deny(denial))
            }
            Self::Operator(crossing) => Ok(crossing.check(REPORT).await?),
            Self::Nobody(gate) => Ok(gate.ensure_open()?),
        }
    }

    /// Ends with a denial, on record.
    pub(crate) fn deny(&mut self, denial: Denial) -> PgError {
        match self {
            Self::Tenant(_, entered) => match entered.take() {
                Some(entered) => entered.deny(denial).into(),
                None => PgError::Interrupted,
            },
            Self::Operator(crossing) => crossing.trail().refuse(REPORT, denial).into(),
            Self::Nobody(gate) => gate.refuse(UNTENANTED, denial).into(),
        }
    }

    /// Ends well.
    pub(crate) fn done(&mut self, wrote: bool) {
        let Self::Tenant(_, entered) = self else { return };
        match entered.take() {
            Some(entered) if wrote => entered.changed(),
            Some(entered) => entered.done(),
            None => {}
        }
    }

    /// Ends with a failure, and a fixed word for it. One without goes on record as the end of a tenant's call, which must
    /// have one, and nowhere else.
    pub(crate) fn failed(&mut self, what: Option<&'static str>) {
        match (self, what) {
            (Self::Tenant(_, entered), _) => {
                let Some(entered) = entered.take() else { return };
                match what {
                    Some(what) => entered.failed_as(what),
                    None => entered.failed(),
                }
            }
            (Self::Operator(crossing), Some(what)) => crossing.trail().failed_as(REPORT, what),
            (Self::Nobody(gate), Some(what)) => gate.failed_as(UNTENANTED, what),
            (Self::Operator(_) | Self::Nobody(_), None) => {}
        }
    }

    /// Records that the guard refused a statement, which ends nothing.
    pub(crate) fn forbidden(&self) {
        match self {
            Self::Tenant(pass, _) => pass.failed_as("pg.statement", GUARD),
            Self::Operator(crossing) => crossing.trail().failed_as(REPORT, GUARD),
            Self::Nobody(gate) => gate.failed_as(UNTENANTED, GUARD),
        }
    }

    /// What records when the call has gone.
    pub(crate) fn witness(&self) -> Witness {
        match self {
            Self::Tenant(pass, _) => Witness::Tenant((*pass).clone()),
            Self::Operator(crossing) => Witness::Operator(crossing.trail().clone()),
            Self::Nobody(gate) => Witness::Nobody((*gate).clone()),
        }
    }
}

/// Words in the log.
const REPORT: &str = "pg.report";
const UNTENANTED: &str = "pg.untenanted";
