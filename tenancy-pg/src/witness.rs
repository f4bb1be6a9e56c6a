//! Where it is recorded what became of a transaction.

use tenancy_core::{CrossingTrail, Denial, Gate, Pass};

/// The chain of whose transaction it is. It opens nothing, and outlives the call.
///
/// A statement that leaves its scope is found out by the closing batch. One that also keeps that batch from running, by
/// ending its own session say, must not get away without a trace.
pub(crate) enum Witness {
    /// A tenant's transaction.
    Tenant(Pass),
    /// A transaction without a tenant.
    Nobody(Gate),
    /// An operator's.
    Operator(CrossingTrail),
}

impl Witness {
    /// Records that a statement left its scope.
    pub(crate) fn breach(&self, action: &'static str) {
        let denial = Denial::StoreBreach;
        let _recorded = match self {
            Self::Tenant(pass) => pass.refuse(action, denial),
            Self::Nobody(gate) => gate.refuse(action, denial),
            Self::Operator(trail) => trail.refuse(action, denial),
        };
    }

    /// Records a failure, with a fixed word in the place of the rule.
    pub(crate) fn failed_as(&self, action: &'static str, what: &'static str) {
        match self {
            Self::Tenant(pass) => pass.failed_as(action, what),
            Self::Nobody(gate) => gate.failed_as(action, what),
            Self::Operator(trail) => trail.failed_as(action, what),
        }
    }
}

/// In the place of the rule of a record: the transaction ended without its proof.
pub(crate) const UNPROVEN: &str = "pg.unproven";
/// In the place of the rule of a record: the server refused the only statement of the transaction, which was rolled back.
pub(crate) const REFUSED: &str = "pg.refused";
