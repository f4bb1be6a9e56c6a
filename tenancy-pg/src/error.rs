//! What can go wrong here.

use tenancy_core::{BoxError, Denial, Redacted, Tellable};

use crate::bulk::BulkError;
use crate::declaration::DeclarationError;
use crate::guard::Forbidden;
use crate::inspect::Inspection;
use crate::policy::PlanFault;
use crate::redact::{DatabaseError, redact};
use crate::replica::ReplicaFault;
use crate::signed::SigningKeyId;

/// An error of this crate.
///
/// [`Denial::of`] finds the denial in it, and in the [`sqlx::Error`] that an executor had to return instead: that one
/// carries a `PgError` as its source, and `PgError::from` takes it out again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PgError {
    /// Refused, and on record.
    #[error("{0}")]
    Denied(
        #[from]
        #[source]
        Denial,
    ),
    /// The database does not keep tenants apart; the report says why and what mends it.
    #[error("the inspection found {} fatal faults ({}): run `tenancy inspect`", .0.fatal().count(), .0.codes())]
    Inspection(Box<Inspection>),
    /// A declaration that can't be used.
    #[error(transparent)]
    Declaration(#[from] DeclarationError),
    /// The tenant's row key is of another type than the tenant tables' columns.
    #[error("the tenant's row key is of another type than the declared tables")]
    RowKeyType,
    /// A statement without an argument list (`raw_sql`, a bare `&str`) could hold several statements: use
    /// `sqlx::query`.
    #[error("only statements with an argument list can be run here, see sqlx::query")]
    SimpleProtocol,
    /// The guard refused a statement before it was sent, and that is on record. The transaction goes on.
    #[error(transparent)]
    Forbidden(#[from] Forbidden),
    /// Rows that can't be inserted in bulk. Nothing was sent, and the transaction goes on.
    #[error(transparent)]
    Bulk(#[from] BulkError),
    /// A statement of this transaction was dropped before its end, or the connection broke: nothing of it is kept.
    #[error("the transaction was interrupted")]
    Interrupted,
    /// The server refused a statement.
    #[error(transparent)]
    Database(DatabaseError),
    /// No row where one was expected.
    #[error("no row where one was expected")]
    RowNotFound,
    /// No connection came free in time.
    #[error("no connection to the database came free in time")]
    Busy,
    /// A connection does not lead to a session of its own, or not to one with the settings it asked for: between this
    /// process and the server is another pooler than the one that was declared, see [`Pooler`](crate::Pooler).
    #[error("connections do not lead to sessions of their own: declare the pooler, or mend it")]
    PoolerMismatch,
    /// A mode that needs sessions of its own behind a pooler that shares them.
    #[error("a signed scope and kept connections need sessions, which a transaction pooler does not give")]
    NeedsSessions,
    /// Nobody said how to log in as the role that reads reports, see [`PgOptions::reports`](crate::PgOptions::reports).
    #[error("there is no role that reads reports, see PgOptions::reports")]
    NoReports,
    /// The server that was given to read from is no standby of the primary, as the same login.
    #[error(transparent)]
    Replica(#[from] ReplicaFault),
    /// A lock in a transaction that a replica may serve, where it would hold nobody off: take it in one that
    /// [`begin`](crate::TenantDb::begin) began.
    #[error("a lock on a replica would hold nobody off: begin a transaction for it")]
    LockOnReplica,
    /// Only one of the options and the declaration is signed.
    #[error("the options and the declaration do not agree on whether scopes are signed")]
    SignedMismatch,
    /// The key that scopes are signed with is good for nothing in this database: it is unknown there, was retired, or
    /// another one has its id. See [`signing_key_sql`](crate::signing_key_sql).
    #[error("the database does not accept the signing key {0}, see signing_key_sql")]
    SigningKey(SigningKeyId),
    /// Nobody said the life of a tenant for which a seal was to be made, see
    /// [`ProbeOptions::lives`](crate::ProbeOptions::lives).
    #[error("a seal holds the tenant's life, which nobody said and its row key is not")]
    NeedsLife,
    /// The driver failed.
    #[error("the database could not be used")]
    Driver(#[source] Redacted<BoxError>),
    /// A migration failed.
    #[error("the migration failed")]
    Migration(#[source] Redacted<BoxError>),
    /// A migration reads or writes a tenant table, whose policies hold its owner too: it would have seen no row. See
    /// [`data_migration_sql`](crate::data_migration_sql).
    #[error("the migration uses a tenant table, where row level security shows its owner no row")]
    MigrationHeld,
    /// A migration of data touched no row of any tenant.
    #[error("the migration of data touched no row")]
    NoRowTouched,
    /// A run of the prober could leave behind what no roll-back takes back, each named as the catalog has it; see
    /// [`ProbeOptions::disposable`](crate::ProbeOptions::disposable).
    #[error("the attempts could leave behind what no roll-back takes back: {}", .0.join(", "))]
    ProbeLeaves(Vec<String>),
    /// No migration was planned, or a planned one not begun. Nothing was changed.
    #[error(transparent)]
    Plan(#[from] PlanFault),
    /// A step of a generated migration failed; those before it are done.
    #[error("the step failed that is there because {reason}")]
    Step {
        /// Why the step is there.
        reason: String,
        /// What went wrong.
        source: Box<PgError>,
    },
    /// The role of a control store, a queue, an eraser or reports may do more than its task, or less.
    #[error("this store needs a plain role of its own, with the rights of its task and no others")]
    ControlRole,
    /// A job's lease had passed, and somebody else has claimed or settled the job.
    #[error("the lease of the job is lost")]
    LeaseLost,
    /// A message for a channel has more than 3,800 bytes.
    #[error("the message is longer than a channel carries")]
    MessageTooLong,
    /// Transactions that began before an erasure's fence are still open: call again.
    #[error("transactions that began before the fence are still open")]
    NotDrained,
    /// Rows of an erased life are left which refer to what was to go: the eraser's role does not see them, or they come again
    /// and again.
    #[error("rows of the life are left that the eraser's role does not see, or that come again and again")]
    RowsLeft,
    /// Rows of an erased life are in a table of this name.
    #[error("rows are left in {0}")]
    RowsIn(String),
    /// A life that the registry does not know can't be fenced there.
    #[error("the registry does not know the life")]
    NotRegistered,
    /// The directory refused a change.
    #[error(transparent)]
    Conflict(#[from] tenancy_core::DirectoryConflict),
    /// A record of the control store can't be read.
    #[error("a record of the control store can't be read")]
    Record,
}

impl Tellable for PgError {}

impl PgError {
    /// The denial, if this is one.
    #[must_use]
    pub fn denial(&self) -> Option<Denial> {
        Denial::of(self)
    }
}

/// What sqlx gives back, by a name for crates that are not built with the driver. Turn it into a [`PgError`], which
/// withholds what it quotes.
pub type DriverError = sqlx::Error;

/// Withholds what the driver's error quotes.
impl From<DriverError> for PgError {
    fn from(error: DriverError) -> Self {
        match error {
            sqlx::Error::Database(e) => Self::Database(DatabaseError::of(&*e)),
            sqlx::Error::Configuration(e) => match e.downcast::<Self>() {
                Ok(ours) => *ours,
                Err(other) => Self::Driver(Redacted::new(other)),
            },
            sqlx::Error::RowNotFound => Self::RowNotFound,
            sqlx::Error::PoolTimedOut => Self::Busy,
            other => Self::Driver(Redacted::new(other.into())),
        }
    }
}

/// For executors, whose error is sqlx's: the denial stays in the source chain.
impl From<PgError> for sqlx::Error {
    fn from(error: PgError) -> Self {
        match error {
            PgError::Database(e) => Self::Database(Box::new(e)),
            PgError::RowNotFound => Self::RowNotFound,
            PgError::Busy => Self::PoolTimedOut,
            other => redact(Self::Configuration(Box::new(other))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_goes_into_a_driver_error_and_comes_out_again() {
        let inside: sqlx::Error = PgError::Denied(Denial::DeadlinePassed).into();
        assert_eq!(Denial::of(&inside), Some(Denial::DeadlinePassed));
        let outside = PgError::from(inside);
        assert_eq!(outside.denial(), Some(Denial::DeadlinePassed));
        assert!(matches!(outside, PgError::Denied(Denial::DeadlinePassed)));
    }
}
