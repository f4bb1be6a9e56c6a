//! Why there is no plan.

use super::cut_off::CutOff;

/// Why no migration was planned, or a planned one not begun. Nothing was changed.
///
/// Names are those of the catalog and the declaration, as SQL writes them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanFault {
    /// A legacy role's policy lets every row through, and this role serves tenants.
    #[error(
        "{role} is declared as a legacy role and can't be {task}: make one of its own (docs/postgres/adopt.md, step 2)"
    )]
    LegacyService {
        /// The role.
        role: String,
        /// What it was to be.
        task: &'static str,
    },
    /// The same by way of a membership: a policy for a role is one for its members.
    #[error(
        "{role} is {task} and a member of {legacy}, a legacy role, whose policy lets every row through: REVOKE {legacy} FROM {role}, or make a role of its own"
    )]
    LegacyMember {
        /// The role.
        role: String,
        /// What it was to be.
        task: &'static str,
        /// The legacy role that it can become.
        legacy: String,
    },
    /// A legacy role whose day is past by the server's clock: the service of before would lose every row at once.
    #[error(
        "the day of the legacy role {role} is past ({until}), so it would see no rows: give it a later one, or take the \
         role out of legacy-roles"
    )]
    LegacyEnded {
        /// The role.
        role: String,
        /// The day that was declared, `YYYY-MM-DD`.
        until: String,
    },
    /// A role that the plan would name is not there.
    #[error("there is no role {role} ({mend})")]
    NoRole {
        /// The role.
        role: String,
        /// What to do.
        mend: String,
    },
    /// A declared relation is not there. What is not declared loses its rights, so a misspelt name is no small thing.
    #[error("{relation} is declared and is not there: run your migrations first")]
    NoRelation {
        /// The relation.
        relation: String,
    },
    /// An adoption under another row key was begun, or the table has such a default of its own: two tenants would share what
    /// one had.
    #[error(
        "rows of {relation} that come without a tenant are another tenant's, by the default of its tenant column: adopt with \
         that row key, or drop the default first"
    )]
    OtherTenant {
        /// The table.
        relation: String,
    },
    /// Without its role's name a comparison would take the reports' policies for nobody's and drop them.
    #[error("reports are declared: name their role")]
    NoReportRole,
    /// Logins that nobody mentioned would see no rows; see [`Migration::cut_off`](crate::Migration::cut_off).
    #[error("nothing was changed: {} would see no rows, and nobody mentioned them", roles(.0))]
    CutsOff(Vec<CutOff>),
}

fn roles(all: &[CutOff]) -> String {
    all.iter().map(CutOff::who).collect::<Vec<_>>().join(", ")
}
