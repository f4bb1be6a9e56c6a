//! A transaction of a report.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::TryStreamExt;
use sqlx::postgres::{PgRow, PgStatement, PgTypeInfo};
use sqlx::{Execute, Executor, Postgres, SqlStr};
use tenancy_core::{Crossing, CrossingTrail, Denial};

use crate::closing::Closing;
use crate::error::PgError;
use crate::guard::GUARD;
use crate::lease::Lease;
use crate::options::PgOptions;
use crate::pool::Pool;
use crate::redact::{ends_the_session, redact};
use crate::scope::{End, Scope};
use crate::statement::{OneStatement, guarded};
use crate::stream::{Outlet, stream};
use crate::tenant_tx::{CHECK_LASTS, ROLLBACK_PATIENCE, ROWS_PER_CHECK, Step, first_row};
use crate::tx_options::{Isolation, TxOptions};
use crate::witness::{UNPROVEN, Witness};

/// A READ ONLY transaction in which every statement sees the same snapshot of the declared reports, as far as the grant
/// reaches.
///
/// `&mut tx` is a [`sqlx::Executor`]. It can't be committed: there is nothing to keep. [`end`](Self::end) shows that every
/// statement kept its reach.
///
/// # Cancelling
/// A statement whose future or stream is dropped before its end ends the transaction, and its connection is closed. A
/// transaction that is dropped between two statements ends behind the scenes: a breach is then on record, after its rows
/// were given.
#[must_use = "a transaction that is dropped ends behind the scenes"]
pub struct ReportTx<'r> {
    crossing: &'r Crossing<'r>,
    scope: Arc<Scope>,
    lease: Option<Lease>,
}

impl<'r> ReportTx<'r> {
    pub(super) async fn open(
        pool: &Arc<Pool>,
        options: &PgOptions,
        crossing: &'r Crossing<'r>,
        scope: Arc<Scope>,
    ) -> Result<Self, PgError> {
        let remaining = crossing.remaining();
        let how = TxOptions::new().read_only().isolation(Isolation::RepeatableRead);
        let opening = scope.opening(how.within(remaining, options.shortened(remaining)));
        let witness = Witness::Operator(crossing.trail().clone());
        let opened = tokio::time::timeout(remaining, Lease::open(pool, &scope, &opening, witness)).await;
        match opened {
            Err(_elapsed) => {
                crossing.check(ACTION).await?;
                Err(crossing.trail().refuse(ACTION, Denial::DeadlinePassed).into())
            }
            Ok(Err(PgError::Denied(denial))) => Err(crossing.trail().refuse(ACTION, denial).into()),
            Ok(opened) => Ok(Self { crossing, scope, lease: Some(opened?) }),
        }
    }

    /// Ends it, after the server has shown that its reach is still what it began with.
    ///
    /// Dropped before it answers: the connection is closed.
    ///
    /// # Errors
    /// [`Denial::StoreBreach`], recorded, when a statement has changed what the server holds of the reach;
    /// [`PgError::Interrupted`]; or [`PgError::Driver`] when the connection broke.
    pub async fn end(mut self) -> Result<(), PgError> {
        let lease = self.lease.take().ok_or(PgError::Interrupted)?;
        let trail = self.crossing.trail();
        match lease.close(&self.scope, End::Rollback).await {
            Closing::Ended { .. } => Ok(()),
            Closing::Breach => Err(trail.refuse(ACTION, Denial::StoreBreach).into()),
            Closing::WasAborted => {
                trail.failed_as(ACTION, UNPROVEN);
                Ok(())
            }
            Closing::Failed { error, proven } => {
                if !proven {
                    trail.failed_as(ACTION, UNPROVEN);
                }
                Err(error.into())
            }
        }
    }

    fn forbidden(&self) {
        self.crossing.trail().failed_as(ACTION, GUARD);
    }

    /// A denial, which is on record, ends the transaction.
    async fn check(&mut self) -> Result<(), PgError> {
        let checked = self.crossing.check(ACTION).await;
        if checked.is_err() {
            drop(self.lease.take());
        }
        Ok(checked?)
    }

    /// The lease is out of `self` while a statement runs, and comes back only when that has ended with the protocol in
    /// step; dropped before that, it closes the connection.
    async fn take(&mut self) -> Result<Lease, PgError> {
        self.check().await?;
        self.lease.take().ok_or(PgError::Interrupted)
    }

    pub(super) async fn relay(&mut self, statement: OneStatement, out: &Outlet<Step>) -> Result<(), sqlx::Error> {
        let mut lease = self.take().await?;
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

    async fn settle<T>(&mut self, mut lease: Lease, ended: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        let error = match ended {
            Ok(value) => {
                self.lease = Some(lease);
                return Ok(value);
            }
            Err(error) => error,
        };
        lease.failed(&error);
        // The server stopped it because the grant had expired: say that.
        self.check().await?;
        if matches!(error, sqlx::Error::Database(_)) && !ends_the_session(&error) {
            self.lease = Some(lease);
        }
        Err(redact(error))
    }

    pub(super) async fn first_row(&mut self, statement: OneStatement) -> Result<Option<PgRow>, sqlx::Error> {
        first_row(stream(|out| async move { self.relay(statement, &out).await })).await
    }

    pub(super) async fn prepare(&mut self, sql: SqlStr, types: &[PgTypeInfo]) -> Result<PgStatement, sqlx::Error> {
        let sql = guarded(sql, || self.forbidden())?;
        let mut lease = self.take().await?;
        let ended = lease.prepare(sql, types).await;
        self.settle(lease, ended).await
    }

    pub(super) async fn describe_statement(&mut self, sql: SqlStr) -> Result<sqlx::Describe<Postgres>, sqlx::Error> {
        let sql = guarded(sql, || self.forbidden())?;
        let mut lease = self.take().await?;
        let ended = lease.describe(sql).await;
        self.settle(lease, ended).await
    }
}

impl<'c> Executor<'c> for &'c mut ReportTx<'_> {
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

impl Drop for ReportTx<'_> {
    fn drop(&mut self) {
        let Some(lease) = self.lease.take() else { return };
        if let Some(pool) = lease.pool() {
            let (trail, scope) = (self.crossing.trail().clone(), Arc::clone(&self.scope));
            pool.behind_the_scenes(async move { end_behind_the_scenes(&trail, &scope, lease).await });
        }
    }
}

/// There is nobody left to tell but the record.
async fn end_behind_the_scenes(trail: &CrossingTrail, scope: &Scope, lease: Lease) {
    match tokio::time::timeout(ROLLBACK_PATIENCE, lease.close_and_clean(scope, End::Rollback)).await {
        Ok(Closing::Breach) => {
            let _recorded = trail.refuse(ACTION, Denial::StoreBreach);
        }
        Ok(Closing::WasAborted | Closing::Failed { proven: false, .. }) => trail.failed_as(ACTION, UNPROVEN),
        // Out of time, the lease itself has recorded it.
        Ok(Closing::Ended { .. } | Closing::Failed { proven: true, .. }) | Err(_) => {}
    }
}

impl fmt::Debug for ReportTx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReportTx")
    }
}

/// The word in the log.
const ACTION: &str = "pg.report";
