//! The programs of the servers that the tests start: found, or installed where that is ours to do.

mod install;
mod pgbouncer;
mod postgres;

use crate::failure::Failure;

/// For whatever starts a Postgres.
pub(crate) fn ensure_postgres() -> Result<(), Failure> {
    postgres::ensure()
}

/// For the tests, which start everything.
pub(crate) fn ensure_all() -> Result<(), Failure> {
    postgres::ensure()?;
    pgbouncer::ensure()
}
