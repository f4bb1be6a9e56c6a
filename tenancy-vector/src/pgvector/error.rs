//! What can be wrong with the tables, and what the database's errors mean to a store of vectors.

use tenancy_core::Reason;
use tenancy_pg::{DeclarationError, PgError, sqlx};

use crate::error::BackendError;

/// Why a back end can't be set up on a database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PgVectorError {
    /// A name that Postgres can't hold.
    #[error(transparent)]
    Name(#[from] DeclarationError),
    /// The name of a vector from which no column can be named.
    #[error("the name of a vector has at most {limit} bytes here")]
    VectorName {
        /// The limit in bytes.
        limit: usize,
    },
    /// A dimension that pgvector does not keep.
    #[error("pgvector keeps at most {limit} dimensions")]
    Dimension {
        /// The largest dimension.
        limit: usize,
    },
    /// A type of row keys that no column is made for.
    #[error("tables of vectors take row keys that are uuids, whole numbers or texts")]
    RowKeys,
    /// The tables are not among those that the database was inspected by.
    #[error(
        "the tables are not declared as what they are: `tenant-tables` in the section [database] of tenancy.toml needs \
         {entries}, with the type of row keys that the other tables have"
    )]
    NotDeclared {
        /// What is to stand there.
        entries: String,
    },
    /// The table of corpora is not among the global tables that the database was inspected by.
    #[error(
        "the table of corpora is not declared: `global-tables` in the section [database] of tenancy.toml needs {entries}"
    )]
    CorporaNotDeclared {
        /// What is to stand there.
        entries: String,
    },
    /// The service's role would have the rights of another task, and so would each statement that a tenant smuggles in.
    #[error("{role:?} can't be both the service's role and the one that {task}: make a login of its own for that")]
    SameRole {
        /// The role.
        role: String,
        /// What the other one does.
        task: &'static str,
    },
    /// The database refused.
    #[error(transparent)]
    Database(#[from] PgError),
}

impl From<sqlx::Error> for PgVectorError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

/// A point that refers to no open life was written too late.
pub(super) fn refused(error: impl Into<PgError>) -> BackendError {
    let error = error.into();
    match (error.denial(), &error) {
        (Some(denial), _) => BackendError::Denied(denial),
        (None, PgError::Database(database)) if database.sqlstate() == Some(FOREIGN_KEY) => BackendError::Dropped,
        (None, _) => BackendError::Failed(Reason::told(error)),
    }
}

pub(super) const FOREIGN_KEY: &str = "23503";
