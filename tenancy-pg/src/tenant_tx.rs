//! A transaction of one tenant.

use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::TryStreamExt;
use sqlx::postgres::{PgQueryResult, PgRow, PgStatement, PgTypeInfo};
use sqlx::{Either, Execute, Executor, Postgres, SqlStr};
use tenancy_core::{Denial, Entered, Pass};

use crate::error::PgError;
use crate::lease::{Closing, Lease};
use crate::redact::{DatabaseError, ends_the_session, redact};
use crate::scope::{End, Scope};
use crate::statement::OneStatement;
use crate::stream::{Outlet, stream};

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
#[must_use = "a transaction that is dropped is rolled back"]
pub struct TenantTx<'t> {
    pass: &'t Pass,
    scope: Arc<Scope>,
    entered: Option<Entered<'t>>,
    lease: Option<Lease>,
    keeps_nothing: bool,
}

impl<'t> TenantTx<'t> {
    pub(crate) fn new(pass: &'t Pass, scope: Arc<Scope>, entered: Entered<'t>, lease: Lease, reads_only: bool) -> Self {
        Self { pass, scope, entered: Some(entered), lease: Some(lease), keeps_nothing: reads_only }
    }

    /// Commits, after the deadline and the tenant's standing were checked once more and the server has shown that the
    /// setting still holds this tenant's row key.
    ///
    /// Dropped before it answers: the transaction may or may not have been committed, the connection is closed, and
    /// the record says `cancelled`.
    ///
    /// # Errors
    /// [`PgError::Denied`], recorded; among them [`Denial::StoreBreach`] when a statement has changed the setting:
    /// nothing is committed then. [`PgError::Interrupted`], or [`PgError::Database`] when the server refuses (an aborted
    /// transaction, a deferred constraint).
    pub async fn commit(mut self) -> Result<(), PgError> {
        let (entered, lease) = self.take()?;
        if let Err(denial) = entered.check() {
            return Err(entered.deny(denial).into());
        }
        match lease.close(&self.scope, End::Commit).await {
            Closing::Ended { wrote: true } => entered.changed(),
            Closing::Ended { wrote: false } => entered.done(),
            Closing::Breach => return Err(entered.deny(Denial::StoreBreach).into()),
            Closing::WasAborted => {
                entered.failed();
                return Err(PgError::Database(DatabaseError::aborted()));
            }
            Closing::Failed(error) => {
                entered.failed();
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Rolls back. Nothing was changed, and nothing is recorded but the access.
    ///
    /// Dropped before it answers: the connection is closed, which rolls back too.
    ///
    /// # Errors
    /// [`Denial::StoreBreach`], recorded, when a statement has changed the setting; [`PgError::Interrupted`]; or
    /// [`PgError::Driver`] when the connection broke. In each case nothing is kept.
    pub async fn rollback(mut self) -> Result<(), PgError> {
        let (entered, lease) = self.take()?;
        match lease.close(&self.scope, End::Rollback).await {
            Closing::Ended { .. } | Closing::WasAborted => entered.done(),
            Closing::Breach => return Err(entered.deny(Denial::StoreBreach).into()),
            Closing::Failed(error) => {
                entered.failed();
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Ends a call whose only statement failed.
    pub(crate) fn fail(mut self) {
        if let Some(entered) = self.entered.take() {
            entered.failed();
        }
    }

    fn take(&mut self) -> Result<(Entered<'t>, Lease), PgError> {
        let lease = self.lease.take().ok_or(PgError::Interrupted)?;
        let entered = self.entered.take().ok_or(PgError::Interrupted)?;
        Ok((entered, lease))
    }

    pub(crate) const fn pass(&self) -> &'t Pass {
        self.pass
    }

    /// Checks the deadline and the standing; a denial is recorded and ends the transaction.
    fn check(&mut self) -> Result<(), PgError> {
        let entered = self.entered.as_ref().ok_or(PgError::Interrupted)?;
        let Err(denial) = entered.check() else { return Ok(()) };
        Err(self.deny(denial))
    }

    fn deny(&mut self, denial: Denial) -> PgError {
        drop(self.lease.take());
        match self.entered.take() {
            Some(entered) => entered.deny(denial).into(),
            None => PgError::Interrupted,
        }
    }

    /// Runs one statement to its end and hands its rows out.
    ///
    /// The lease is out of `self` while the statement runs and comes back only when it has ended in a way that leaves
    /// the protocol in step; dropped before that, the lease closes the connection.
    pub(crate) async fn relay(&mut self, statement: OneStatement, out: &Outlet<Step>) -> Result<(), sqlx::Error> {
        self.check()?;
        let mut lease = self.lease.take().ok_or(PgError::Interrupted)?;
        let mut seen = 0_usize;
        let ended = {
            let mut steps = lease.connection()?.fetch_many(statement);
            loop {
                match steps.try_next().await {
                    Ok(Some(step)) => {
                        seen += 1;
                        if seen.is_multiple_of(ROWS_PER_CHECK) {
                            self.check()?;
                        }
                        out.give(step).await;
                    }
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            }
        };
        self.settle(lease, ended)
    }

    /// After a refusal of the server the protocol is in step and a rollback, to a savepoint perhaps, can follow. After
    /// any other error nobody knows.
    fn settle<T>(&mut self, lease: Lease, ended: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        let in_step = match &ended {
            Ok(_) => true,
            Err(error @ sqlx::Error::Database(_)) => !ends_the_session(error),
            Err(_) => false,
        };
        if in_step {
            self.lease = Some(lease);
        }
        ended.map_err(|error| match self.check() {
            // The server stopped it because the deadline had come: say that.
            Err(denied) => denied.into(),
            Ok(()) => redact(error),
        })
    }

    pub(crate) async fn first_row(&mut self, statement: OneStatement) -> Result<Option<PgRow>, sqlx::Error> {
        let mut steps = stream(|out| async move { self.relay(statement, &out).await });
        let mut first = None;
        // To the end: a deferred error comes after the row.
        while let Some(step) = steps.try_next().await? {
            if let (None, Either::Right(row)) = (&first, step) {
                first = Some(row);
            }
        }
        Ok(first)
    }

    pub(crate) async fn prepare(&mut self, sql: SqlStr, types: &[PgTypeInfo]) -> Result<PgStatement, sqlx::Error> {
        self.check()?;
        let mut lease = self.lease.take().ok_or(PgError::Interrupted)?;
        let ended = lease.connection()?.prepare_with(sql, types).await;
        self.settle(lease, ended)
    }

    pub(crate) async fn describe_statement(&mut self, sql: SqlStr) -> Result<sqlx::Describe<Postgres>, sqlx::Error> {
        self.check()?;
        let mut lease = self.lease.take().ok_or(PgError::Interrupted)?;
        let ended = lease.connection()?.describe(sql).await;
        self.settle(lease, ended)
    }
}

/// A result or a row of a statement.
pub(crate) type Step = Either<PgQueryResult, PgRow>;

impl<'c> Executor<'c> for &'c mut TenantTx<'_> {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, Result<Step, sqlx::Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let statement = OneStatement::take(query);
        stream(move |out| async move { self.relay(statement?, &out).await })
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<PgRow>, sqlx::Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let statement = OneStatement::take(query);
        Box::pin(async move { self.first_row(statement?).await })
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [PgTypeInfo],
    ) -> BoxFuture<'e, Result<PgStatement, sqlx::Error>>
    where
        'c: 'e,
    {
        Box::pin(self.prepare(sql, parameters))
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<sqlx::Describe<Postgres>, sqlx::Error>>
    where
        'c: 'e,
    {
        Box::pin(self.describe_statement(sql))
    }
}

impl Drop for TenantTx<'_> {
    fn drop(&mut self) {
        let Some(lease) = self.lease.take() else { return };
        if self.keeps_nothing
            && let Some(entered) = self.entered.take()
        {
            entered.done();
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (pass, scope) = (self.pass.clone(), Arc::clone(&self.scope));
            runtime.spawn(async move { roll_back_behind_the_scenes(&pass, &scope, lease).await });
        }
    }
}

impl fmt::Debug for TenantTx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantTx({:?})", self.pass.context().life())
    }
}

async fn roll_back_behind_the_scenes(pass: &Pass, scope: &Scope, lease: Lease) {
    let closing = tokio::time::timeout(ROLLBACK_PATIENCE, lease.close(scope, End::Rollback));
    if let Ok(Closing::Breach) = closing.await {
        // On record; there is nobody left to tell.
        let _recorded = pass.refuse("pg.rollback", Denial::StoreBreach);
    }
}

/// The deadline is looked at after so many rows.
const ROWS_PER_CHECK: usize = 64;
/// A connection that does not roll back within this time is closed.
const ROLLBACK_PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);
