//! A transaction of one tenant.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::TryStreamExt;
use sqlx::postgres::{PgConnection, PgQueryResult, PgRow, PgStatement, PgTypeInfo};
use sqlx::{Either, Execute, Executor, Postgres, SqlStr};
use tenancy_core::{Denial, Entered, Pass};

use crate::closing::Closing;
use crate::declaration::Declaration;
use crate::error::PgError;
use crate::guard::GUARD;
use crate::lease::Lease;
use crate::redact::{DatabaseError, ends_the_session, redact};
use crate::replica::{Point, ReadPoint, Replica};
use crate::scope::{Access, End, Scope};
use crate::statement::{OneStatement, guarded};
use crate::stream::{Outlet, stream};
use crate::witness::UNPROVEN;

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
    pub(crate) scope: Arc<Scope>,
    entered: Option<Entered<'t>>,
    pub(crate) lease: Option<Lease>,
    keeps_nothing: bool,
    /// Where reads go that must see what is committed here.
    replica: Option<&'t Replica>,
    /// That a replica serves it, or might have.
    pub(crate) may_be_on_replica: bool,
    /// That a statement failed is on record.
    failed: bool,
    /// How many savepoints are open.
    pub(crate) depth: u32,
    /// The outermost savepoint that was dropped and is still to be undone.
    pub(crate) dropped: Option<u32>,
}

impl<'t> TenantTx<'t> {
    pub(crate) fn new(
        pass: &'t Pass,
        declaration: &'t Declaration,
        scope: Arc<Scope>,
        entered: Entered<'t>,
        lease: Lease,
        replica: Option<&'t Replica>,
        access: Access,
    ) -> Self {
        Self {
            pass,
            declaration,
            scope,
            entered: Some(entered),
            lease: Some(lease),
            keeps_nothing: access == Access::ReadOnly,
            replica,
            may_be_on_replica: false,
            failed: false,
            depth: 0,
            dropped: None,
        }
    }

    /// Commits, after the deadline and the tenant's standing were checked once more and the server has shown that the
    /// setting still holds this tenant's row key.
    ///
    /// Dropped before it answers: the transaction may or may not have been committed, the connection is closed, and
    /// the record says `cancelled`.
    ///
    /// # Errors
    /// [`PgError::Denied`], recorded; among them [`Denial::StoreBreach`] when a statement has changed the setting or
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
        let (entered, lease) = self.take()?;
        if let Err(denial) = entered.check_fresh().await {
            return Err(entered.deny(denial).into());
        }
        // Dropped unanswered, it leaves a doubt.
        let write = self.replica.filter(|_| !self.keeps_nothing).map(|r| r.known().write(self.pass.context().life()));
        let closing = lease.close(&self.scope, end).await;
        if let Some(write) = write {
            write.ended(&closing);
        }
        match closing {
            Closing::Ended { wrote, point } => {
                if wrote {
                    entered.changed()
                } else {
                    entered.done()
                }
                Ok(point)
            }
            Closing::Breach => Err(entered.deny(Denial::StoreBreach).into()),
            Closing::WasAborted => {
                entered.failed_as(UNPROVEN);
                Err(PgError::Database(DatabaseError::aborted()))
            }
            Closing::Failed { error, proven } => {
                failed(entered, proven);
                Err(error.into())
            }
        }
    }

    /// Rolls back. Nothing was changed, and nothing is recorded but the access, unless a statement has failed before:
    /// the server then can't show any more whose rows were seen.
    ///
    /// Dropped before it answers: the connection is closed, which rolls back too.
    ///
    /// # Errors
    /// [`Denial::StoreBreach`], recorded, when a statement has changed the setting; [`PgError::Interrupted`]; or
    /// [`PgError::Driver`] when the connection broke. In each case nothing is kept.
    pub async fn rollback(mut self) -> Result<(), PgError> {
        let (entered, lease) = self.take()?;
        match lease.close(&self.scope, End::Rollback).await {
            Closing::Ended { .. } => entered.done(),
            Closing::WasAborted => entered.failed_as(UNPROVEN),
            Closing::Breach => return Err(entered.deny(Denial::StoreBreach).into()),
            Closing::Failed { error, proven } => {
                failed(entered, proven);
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
        self.failed = true;
    }

    /// See [`danger::connection`](crate::danger::connection).
    pub(crate) async fn hand_out(&mut self, reason: &'static str) -> Result<&mut PgConnection, PgError> {
        self.ready().await?;
        self.pass.exit("danger.connection", reason).await?;
        if let Some(replica) = self.replica {
            // What runs on it may commit, and begin again.
            replica.known().doubt(self.pass.context().life());
        }
        let lease = self.lease.as_mut().ok_or(PgError::Interrupted)?;
        Ok(lease.hand_out().await?)
    }

    fn take(&mut self) -> Result<(Entered<'t>, Lease), PgError> {
        let lease = self.lease.take().ok_or(PgError::Interrupted)?;
        let entered = self.entered.take().ok_or(PgError::Interrupted)?;
        Ok((entered, lease))
    }

    pub(crate) const fn pass(&self) -> &'t Pass {
        self.pass
    }

    pub(crate) fn forbidden(&self) {
        self.pass.failed_as("pg.statement", GUARD);
    }

    /// Checks the deadline and the standing, asking the directory where its answer is getting old; a denial is recorded
    /// and ends the transaction.
    pub(crate) async fn check(&mut self) -> Result<(), PgError> {
        let entered = self.entered.as_ref().ok_or(PgError::Interrupted)?;
        let Err(denial) = entered.check_fresh().await else { return Ok(()) };
        Err(self.deny(denial))
    }

    pub(crate) fn deny(&mut self, denial: Denial) -> PgError {
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
        self.ready().await?;
        let mut lease = self.lease.take().ok_or(PgError::Interrupted)?;
        let (mut seen, mut checked) = (0_usize, Instant::now());
        let ended = {
            let mut steps = lease.run(statement)?;
            loop {
                match steps.try_next().await {
                    Ok(Some(step)) => {
                        seen += 1;
                        if seen.is_multiple_of(ROWS_PER_CHECK) || checked.elapsed() > CHECK_LASTS {
                            self.check().await?;
                            checked = Instant::now();
                        }
                        out.give(step).await;
                    }
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            }
        };
        self.settle(lease, ended).await
    }

    /// After a refusal of the server the protocol is in step and a rollback, to a savepoint perhaps, can follow. After
    /// any other error nobody knows.
    pub(crate) async fn settle<T>(
        &mut self,
        mut lease: Lease,
        ended: Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        let error = match ended {
            Ok(value) => {
                self.lease = Some(lease);
                return Ok(value);
            }
            Err(error) => error,
        };
        lease.failed(&error);
        // The server stopped it because the deadline had come: say that.
        self.check().await?;
        if matches!(error, sqlx::Error::Database(_)) && !ends_the_session(&error) {
            self.lease = Some(lease);
        }
        Err(redact(error))
    }

    pub(crate) async fn first_row(&mut self, statement: OneStatement) -> Result<Option<PgRow>, sqlx::Error> {
        first_row(stream(|out| async move { self.relay(statement, &out).await })).await
    }

    pub(crate) async fn prepare(&mut self, sql: SqlStr, types: &[PgTypeInfo]) -> Result<PgStatement, sqlx::Error> {
        let sql = guarded(sql, || self.forbidden())?;
        self.ready().await?;
        let mut lease = self.lease.take().ok_or(PgError::Interrupted)?;
        let ended = lease.prepare(sql, types).await;
        self.settle(lease, ended).await
    }

    pub(crate) async fn describe_statement(&mut self, sql: SqlStr) -> Result<sqlx::Describe<Postgres>, sqlx::Error> {
        let sql = guarded(sql, || self.forbidden())?;
        self.ready().await?;
        let mut lease = self.lease.take().ok_or(PgError::Interrupted)?;
        let ended = lease.describe(sql).await;
        self.settle(lease, ended).await
    }
}

/// A result or a row of a statement.
pub(crate) type Step = Either<PgQueryResult, PgRow>;

/// The first row of a statement, which is run to its end: a deferred error comes after the row.
pub(crate) async fn first_row(
    mut steps: BoxStream<'_, Result<Step, sqlx::Error>>,
) -> Result<Option<PgRow>, sqlx::Error> {
    let mut first = None;
    while let Some(step) = steps.try_next().await? {
        if let (None, Either::Right(row)) = (&first, step) {
            first = Some(row);
        }
    }
    Ok(first)
}

impl<'c> Executor<'c> for &'c mut TenantTx<'_> {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, Result<Step, sqlx::Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let statement = OneStatement::take(query, || self.forbidden());
        stream(move |out| async move { self.relay(statement?, &out).await })
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<PgRow>, sqlx::Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let statement = OneStatement::take(query, || self.forbidden());
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
        if let Some(pool) = lease.pool() {
            let (pass, scope, failed) = (self.pass.clone(), Arc::clone(&self.scope), self.failed);
            pool.behind_the_scenes(async move { roll_back_behind_the_scenes(&pass, &scope, lease, failed).await });
        }
    }
}

impl fmt::Debug for TenantTx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantTx({:?})", self.pass.context().life())
    }
}

/// There is nobody left to tell but the record.
async fn roll_back_behind_the_scenes(pass: &Pass, scope: &Scope, lease: Lease, failed: bool) {
    match tokio::time::timeout(ROLLBACK_PATIENCE, lease.close_and_clean(scope, End::Rollback)).await {
        Ok(Closing::Breach) => {
            let _recorded = pass.refuse("pg.rollback", Denial::StoreBreach);
        }
        Ok(Closing::WasAborted) if failed => {}
        Ok(Closing::WasAborted | Closing::Failed { proven: false, .. }) => pass.failed_as("pg.rollback", UNPROVEN),
        // Out of time, the lease itself has recorded it.
        Ok(Closing::Ended { .. } | Closing::Failed { proven: true, .. }) | Err(_) => {}
    }
}

fn failed(entered: Entered<'_>, proven: bool) {
    if proven { entered.failed() } else { entered.failed_as(UNPROVEN) }
}

/// The deadline and the standing are looked at after so many rows,
pub(crate) const ROWS_PER_CHECK: usize = 64;
/// and before a row that was asked for later than this after the last look.
pub(crate) const CHECK_LASTS: Duration = Duration::from_millis(100);
/// A connection that does not roll back within this time is closed.
pub(crate) const ROLLBACK_PATIENCE: Duration = Duration::from_secs(5);
