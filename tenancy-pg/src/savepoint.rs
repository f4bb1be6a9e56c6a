//! Savepoints of a tenant's transaction.

use std::fmt;

use sqlx::postgres::{PgStatement, PgTypeInfo};
use sqlx::{Postgres, SqlStr};
use tenancy_core::Denial;

use crate::closing::Closing;
use crate::error::PgError;
use crate::executor::{Step, executor};
use crate::lease::Lease;
use crate::redact::DatabaseError;
use crate::statement::OneStatement;
use crate::stream::Outlet;
use crate::tenant_tx::TenantTx;
use crate::witness::UNPROVEN;

/// A part of a transaction that can be undone by itself. It can't change the tenant: releasing it, or going back behind
/// it, is preceded in the same round-trip by the proof that the scope is still the transaction's own.
///
/// `&mut savepoint` is a [`sqlx::Executor`], and the transaction is out of reach while it lives. Savepoints nest.
///
/// ```no_run
/// # async fn run(db: &tenancy_pg::TenantDb) -> Result<(), Box<dyn std::error::Error>> {
/// let mut tx = db.begin().await?;
/// for body in ["one", "two"] {
///     let mut attempt = tx.savepoint().await?;
///     match sqlx::query("insert into note (body) values ($1)").bind(body).execute(&mut attempt).await {
///         Ok(_) => attempt.release().await?,
///         Err(_) => attempt.rollback().await?, // the transaction goes on
///     }
/// }
/// tx.commit().await?;
/// # Ok(())
/// # }
/// ```
///
/// # Cancelling
/// As with [`TenantTx`], a statement whose future is dropped before its end ends the whole transaction. A savepoint that
/// is dropped between two statements is undone before the next statement or the commit, which costs that one a
/// round-trip.
#[must_use = "a savepoint that is dropped is undone"]
pub struct TenantSavepoint<'s, 't> {
    tx: &'s mut TenantTx<'t>,
    depth: u32,
    open: bool,
}

impl<'t> TenantSavepoint<'_, 't> {
    /// A savepoint within this one. One round-trip; dropped before it answers, the transaction is interrupted.
    ///
    /// # Errors
    /// As [`TenantTx::savepoint`].
    pub async fn savepoint(&mut self) -> Result<TenantSavepoint<'_, 't>, PgError> {
        self.tx.savepoint().await
    }

    /// Keeps what was done since, as a part of the transaction. One round-trip; dropped before it answers, the
    /// transaction is interrupted.
    ///
    /// # Errors
    /// [`PgError::Denied`], recorded, which ends the transaction; among them [`Denial::StoreBreach`] when a statement has
    /// changed the setting. [`PgError::Database`] with SQLSTATE 25P02 after a statement that failed: the savepoint is
    /// undone then and the transaction goes on. [`PgError::Interrupted`], or [`PgError::Driver`] when the connection
    /// broke.
    pub async fn release(mut self) -> Result<(), PgError> {
        self.tx.ready().await?;
        self.open = false;
        self.tx.step(Leave::Release, self.depth).await
    }

    /// Undoes what was done since. One round-trip, and a second one after a statement that failed: the server can't show
    /// any more whose rows that one saw, and the record says so (`pg.unproven`). Dropped before it answers, the
    /// transaction is interrupted.
    ///
    /// # Errors
    /// [`Denial::StoreBreach`], recorded, when a statement has changed the setting, which ends the transaction;
    /// [`PgError::Interrupted`], or [`PgError::Driver`] when the connection broke.
    pub async fn rollback(mut self) -> Result<(), PgError> {
        self.open = false;
        self.tx.step(Leave::Undo, self.depth).await
    }

    fn forbidden(&self) {
        self.tx.forbidden();
    }

    async fn relay(&mut self, statement: OneStatement, out: &Outlet<Step>) -> Result<(), sqlx::Error> {
        self.tx.relay(statement, out).await
    }

    async fn prepare(&mut self, sql: SqlStr, types: &[PgTypeInfo]) -> Result<PgStatement, sqlx::Error> {
        self.tx.prepare(sql, types).await
    }

    async fn describe_statement(&mut self, sql: SqlStr) -> Result<sqlx::Describe<Postgres>, sqlx::Error> {
        self.tx.describe_statement(sql).await
    }

    pub(crate) const fn tx(&self) -> &TenantTx<'t> {
        self.tx
    }

    pub(crate) const fn tx_mut(&mut self) -> &mut TenantTx<'t> {
        self.tx
    }
}

impl Drop for TenantSavepoint<'_, '_> {
    fn drop(&mut self) {
        self.tx.depth = self.depth - 1;
        if self.open {
            // Those inside it were dropped before.
            self.tx.dropped = Some(self.depth);
        }
    }
}

impl<'t> TenantTx<'t> {
    /// Begins a part that can be undone by itself. One round-trip; dropped before it answers, the transaction is
    /// interrupted.
    ///
    /// # Errors
    /// [`PgError::Denied`], recorded; [`PgError::Interrupted`]; [`PgError::Database`] with SQLSTATE 25P02 after a
    /// statement that failed.
    pub async fn savepoint(&mut self) -> Result<TenantSavepoint<'_, 't>, PgError> {
        self.undo_dropped().await?;
        let depth = self.depth + 1;
        let mut lease = self.transaction.take().await?;
        let ended = lease.command(&format!("savepoint {}", name(depth))).await;
        self.transaction.settle(lease, ended).await?;
        self.depth = depth;
        Ok(TenantSavepoint { tx: self, depth, open: true })
    }

    /// Before a statement: the deadline, the standing, and what a dropped savepoint left.
    pub(crate) async fn ready(&mut self) -> Result<(), PgError> {
        self.transaction.check().await?;
        self.undo_dropped().await
    }

    pub(crate) async fn undo_dropped(&mut self) -> Result<(), PgError> {
        match self.dropped {
            Some(depth) => self.step(Leave::Undo, depth).await,
            None => Ok(()),
        }
    }

    async fn step(&mut self, leave: Leave, depth: u32) -> Result<(), PgError> {
        let mut lease = self.transaction.lease.take().ok_or(PgError::Interrupted)?;
        let savepoint = name(depth);
        let undo = format!("rollback to savepoint {savepoint}; release savepoint {savepoint}");
        let sql = match leave {
            Leave::Release => format!("release savepoint {savepoint}"),
            Leave::Undo => undo.clone(),
        };
        let was_aborted = match lease.prove_then(&self.transaction.scope, &sql).await {
            Closing::Ended { .. } => false,
            Closing::WasAborted => true,
            Closing::Breach => return Err(self.transaction.deny(Denial::StoreBreach)),
            Closing::Failed { error, .. } => return Err(self.broken(lease, error)),
        };
        if was_aborted {
            if let Err(error) = lease.command(&undo).await {
                return Err(self.broken(lease, error));
            }
            self.pass().failed_as("pg.savepoint", UNPROVEN);
        }
        self.dropped = None;
        self.transaction.lease = Some(lease);
        match leave {
            Leave::Release if was_aborted => Err(PgError::Database(DatabaseError::aborted())),
            Leave::Release | Leave::Undo => Ok(()),
        }
    }

    /// Nobody knows what the server made of it: the connection is closed.
    fn broken(&mut self, lease: Lease, error: sqlx::Error) -> PgError {
        drop(lease);
        error.into()
    }
}

/// What becomes of what was done since a savepoint.
#[derive(Clone, Copy)]
enum Leave {
    Release,
    Undo,
}

fn name(depth: u32) -> String {
    format!("tenancy_{depth}")
}

executor!(&'c mut TenantSavepoint<'_, '_>);

impl fmt::Debug for TenantSavepoint<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantSavepoint({:?}, {})", self.tx.pass().context().life(), self.depth)
    }
}
