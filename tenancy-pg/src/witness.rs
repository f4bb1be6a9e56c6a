//! Who is told of a transaction whose scope was never proven.

use tenancy_core::{CrossingTrail, Denial, Gate, Pass};

/// Records, in the chain of whose transaction it was, that its end could not show whose rows it saw.
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
    pub(crate) fn breach(&self) {
        let _recorded = match self {
            Self::Tenant(pass) => pass.refuse("pg.end", Denial::StoreBreach),
            Self::Nobody(gate) => gate.refuse("pg.end", Denial::StoreBreach),
            Self::Operator(trail) => trail.refuse("pg.end", Denial::StoreBreach),
        };
    }

    pub(crate) fn unproven(&self) {
        match self {
            Self::Tenant(pass) => pass.failed_as("pg.end", UNPROVEN),
            Self::Nobody(gate) => gate.failed_as("pg.end", UNPROVEN),
            Self::Operator(trail) => trail.failed_as("pg.end", UNPROVEN),
        }
    }
}

/// In the place of the rule of a record: the transaction ended without its proof.
pub(crate) const UNPROVEN: &str = "pg.unproven";
