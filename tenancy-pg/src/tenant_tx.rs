//! A transaction of one tenant.

use std::fmt;

use sqlx::postgres::{PgConnection, PgStatement, PgTypeInfo};
use sqlx::{Postgres, SqlStr};
use tenancy_core::Pass;

use crate::declaration::Declaration;
use crate::error::PgError;
use crate::executor::{Step, executor};
use crate::replica::{Point, ReadPoint, Replica};
use crate::scope::End;
use crate::statement::OneStatement;
use crate::stream::Outlet;
use crate::transaction::Transaction;

/// A transaction in which every statement runs under one tenant's row key.
///
/// `&mut tx` is a [`sqlx::Executor`]: `sqlx::query(..).execute(&mut tx)` and the macros work. Statements need an
/// argument list, so a bare text or `raw_sql` is refused: the protocol then carries one statement and no second one
/// behind a semicolon.
///
/// # Cancelling
/// A statement whose future or stream is dropped before its end ends the transaction: what comes after it is refused
/// ([`PgError::Interrupted`]) and the connection is closed. A transaction that is dropped between two statements is
/// rolled back behind the scenes, and its connection is used again only after that, and its cleanliness, were proven.
/// Where it can't be proven any more whose rows it saw, a `failed` record with the rule `pg.unproven` says so.
#[must_use = "a transaction that is dropped is rolled back"]
pub struct TenantTx<'t> {
    pass: &'t Pass,
    pub(crate) declaration: &'t Declaration,
    pub(crate) transaction: Transaction<'t>,
    /// Where reads go that must see what is committed here.
    replica: Option<&'t Replica>,
    /// That a replica serves it, or might have.
    pub(crate) may_be_on_replica: bool,
    /// How many savepoints are open.
    pub(crate) depth: u32,
    /// The outermost savepoint that was dropped and is still to be undone.
    pub(crate) dropped: Option<u32>,
}

impl<'t> TenantTx<'t> {
    pub(crate) const fn new(
        pass: &'t Pass,
        declaration: &'t Declaration,
        transaction: Transaction<'t>,
        replica: Option<&'t Replica>,
        may_be_on_replica: bool,
    ) -> Self {
        Self { pass, declaration, transaction, replica, may_be_on_replica, depth: 0, dropped: None }
    }

    /// Commits, after the deadline and the tenant's standing were checked once more and the server has shown that the
    /// setting still holds this tenant's row key.
    ///
    /// Dropped before it answers: the transaction may or may not have been committed, the connection is closed, and
    /// the record says `cancelled`.
    ///
    /// # Errors
    /// [`PgError::Denied`], recorded; among them
    /// [`Denial::StoreBreach`](tenancy_core::Denial::StoreBreach) when a statement has changed the setting or
    /// ended the transaction: nothing is committed then. [`PgError::Interrupted`], or [`PgError::Database`] when the
    /// server refuses (an aborted transaction, a deferred constraint).
    pub async fn commit(self) -> Result<(), PgError> {
        let end = if self.replica.is_some() { End::CommitAt } else { End::Commit };
        self.commit_as(end).await.map(drop)
    }

    /// As [`commit`](Self::commit), and says what other processes must see to see this: for
    /// [`TenantDb::read_after`](crate::TenantDb::read_after). This process knows by itself. As many round-trips.
    ///
    /// `None` after a transaction that only read, and where it was committed and the server did not say: whoever wants to
    /// see it then reads in a transaction that [`begin`](crate::TenantDb::begin) began.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub async fn commit_at(self) -> Result<Option<ReadPoint>, PgError> {
        let context = self.pass.context();
        match self.commit_as(End::CommitAt).await? {
            Some(point) => Ok(ReadPoint::seal(context, point).ok()),
            None => Ok(None),
        }
    }

    async fn commit_as(mut self, end: End) -> Result<Option<Point>, PgError> {
        self.undo_dropped().await?;
        self.transaction.check().await?;
        // Dropped unanswered, it leaves a doubt.
        let replica = self.replica.filter(|_| !self.transaction.only_reads());
        let write = replica.map(|replica| replica.known().write(self.pass.context().life()));
        let closing = self.transaction.close(end).await?;
        if let Some(write) = write {
            write.ended(&closing);
        }
        self.transaction.ended(end, closing)
    }

    /// Rolls back. Nothing was changed, and nothing is recorded but the access, unless a statement has failed before:
    /// the server then can't show any more whose rows were seen.
    ///
    /// Dropped before it answers: the connection is closed, which rolls back too.
    ///
    /// # Errors
    /// [`Denial::StoreBreach`](tenancy_core::Denial::StoreBreach), recorded, when a statement has changed the setting;
    /// [`PgError::Interrupted`]; or
    /// [`PgError::Driver`] when the connection broke. In each case nothing is kept.
    pub async fn rollback(self) -> Result<(), PgError> {
        self.transaction.rollback().await
    }

    /// Commits what went well, where there was one statement in it.
    pub(crate) async fn finish<T>(self, ran: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        match ran {
            Ok(value) => {
                self.commit().await?;
                Ok(value)
            }
            Err(error) => {
                self.transaction.refused();
                Err(error)
            }
        }
    }

    /// See [`danger::connection`](crate::danger::connection).
    pub(crate) async fn hand_out(&mut self, reason: &'static str) -> Result<&mut PgConnection, PgError> {
        self.ready().await?;
        self.pass.exit("danger.connection", reason).await?;
        if let Some(replica) = self.replica {
            // What runs on it may commit, and begin again.
            replica.known().doubt(self.pass.context().life());
        }
        let lease = self.transaction.lease.as_mut().ok_or(PgError::Interrupted)?;
        Ok(lease.hand_out().await?)
    }

    pub(crate) const fn pass(&self) -> &'t Pass {
        self.pass
    }

    pub(crate) fn forbidden(&self) {
        self.transaction.forbidden();
    }

    pub(crate) async fn relay(&mut self, statement: OneStatement, out: &Outlet<Step>) -> Result<(), sqlx::Error> {
        self.undo_dropped().await?;
        self.transaction.relay(statement, out).await
    }

    pub(crate) async fn prepare(&mut self, sql: SqlStr, types: &[PgTypeInfo]) -> Result<PgStatement, sqlx::Error> {
        self.undo_dropped().await?;
        self.transaction.prepare(sql, types).await
    }

    pub(crate) async fn describe_statement(&mut self, sql: SqlStr) -> Result<sqlx::Describe<Postgres>, sqlx::Error> {
        self.undo_dropped().await?;
        self.transaction.describe(sql).await
    }
}

executor!(&'c mut TenantTx<'_>);

impl fmt::Debug for TenantTx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantTx({:?})", self.pass.context().life())
    }
}
