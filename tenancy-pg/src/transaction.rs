//! A transaction that runs one statement after the other, whoever holds it.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_core::stream::BoxStream;
use futures_util::TryStreamExt;
use sqlx::postgres::{PgStatement, PgTypeInfo};
use sqlx::{Postgres, SqlStr};
use tenancy_core::Denial;

use crate::closing::Closing;
use crate::error::PgError;
use crate::executor::Step;
use crate::holder::Holder;
use crate::lease::Lease;
use crate::redact::{DatabaseError, ends_the_session, redact};
use crate::replica::Point;
use crate::scope::{Access, End, Scope};
use crate::statement::OneStatement;
use crate::stream::Outlet;
use crate::witness::{REFUSED, UNPROVEN, Witness};

/// What the handles hold. Dropped between two statements, it is rolled back behind the scenes; where it can't be proven any
/// more whose rows it saw, a record says so.
///
/// The lease is out of it while a statement runs, and comes back only when that has ended with the protocol in step.
/// Dropped before that, the lease closes the connection.
pub(crate) struct Transaction<'t> {
    holder: Holder<'t>,
    pub(crate) scope: Arc<Scope>,
    pub(crate) lease: Option<Lease>,
    access: Access,
    /// That its only statement was refused is on record.
    refused: bool,
}

impl<'t> Transaction<'t> {
    /// Opens it within the holder's time. What goes wrong is on record.
    pub(crate) async fn open(
        mut holder: Holder<'t>,
        scope: &Arc<Scope>,
        access: Access,
        lease: impl Future<Output = Result<Lease, PgError>>,
    ) -> Result<Self, PgError> {
        let opened = match holder.remaining() {
            Some(remaining) => tokio::time::timeout(remaining, lease).await,
            None => Ok(lease.await),
        };
        match opened {
            Ok(Ok(lease)) => Ok(Self { holder, scope: Arc::clone(scope), lease: Some(lease), access, refused: false }),
            Ok(Err(PgError::Denied(denial))) => Err(holder.deny(denial)),
            Ok(Err(error)) => {
                holder.failed(None);
                Err(error)
            }
            Err(_elapsed) => {
                holder.check().await?;
                Err(holder.deny(Denial::DeadlinePassed))
            }
        }
    }

    /// Whether it has nothing to keep.
    pub(crate) fn only_reads(&self) -> bool {
        self.access == Access::ReadOnly
    }

    /// Records that the guard refused a statement.
    pub(crate) fn forbidden(&self) {
        self.holder.forbidden();
    }

    /// Asks whether it may go on; a denial, which is on record, ends it.
    pub(crate) async fn check(&mut self) -> Result<(), PgError> {
        let checked = self.holder.check().await;
        if checked.is_err() {
            drop(self.lease.take());
        }
        checked
    }

    /// Ends it with a denial.
    pub(crate) fn deny(&mut self, denial: Denial) -> PgError {
        drop(self.lease.take());
        self.holder.deny(denial)
    }

    /// The lease, after a check, for whoever calls to [`settle`](Self::settle).
    pub(crate) async fn take(&mut self) -> Result<Lease, PgError> {
        self.check().await?;
        self.lease.take().ok_or(PgError::Interrupted)
    }

    /// Runs one statement to its end and hands its rows out.
    pub(crate) async fn relay(&mut self, statement: OneStatement, out: &Outlet<Step>) -> Result<(), sqlx::Error> {
        let mut lease = self.take().await?;
        let ended = self.give_on(lease.run(statement)?, out).await?;
        self.settle(lease, ended).await
    }

    pub(crate) async fn prepare(&mut self, sql: SqlStr, types: &[PgTypeInfo]) -> Result<PgStatement, sqlx::Error> {
        let mut lease = self.take().await?;
        let ended = lease.prepare(sql, types).await;
        self.settle(lease, ended).await
    }

    pub(crate) async fn describe(&mut self, sql: SqlStr) -> Result<sqlx::Describe<Postgres>, sqlx::Error> {
        let mut lease = self.take().await?;
        let ended = lease.describe(sql).await;
        self.settle(lease, ended).await
    }

    /// Hands out what the server sends, and checks now and then. The outer error is a denial.
    pub(crate) async fn give_on<T>(
        &mut self,
        mut items: BoxStream<'_, Result<T, sqlx::Error>>,
        out: &Outlet<T>,
    ) -> Result<Result<(), sqlx::Error>, PgError> {
        let (mut seen, mut checked) = (0_usize, Instant::now());
        loop {
            match items.try_next().await {
                Ok(Some(item)) => {
                    seen += 1;
                    if seen.is_multiple_of(ROWS_PER_CHECK) || checked.elapsed() > CHECK_LASTS {
                        self.check().await?;
                        checked = Instant::now();
                    }
                    out.give(item).await;
                }
                Ok(None) => return Ok(Ok(())),
                Err(error) => return Ok(Err(error)),
            }
        }
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

    /// Ends it on the server. Whoever calls goes on with [`ended`](Self::ended). Dropped before it answers: the connection
    /// is closed.
    pub(crate) async fn close(&mut self, end: End) -> Result<Closing, PgError> {
        let lease = self.lease.take().ok_or(PgError::Interrupted)?;
        Ok(lease.close(&self.scope, end).await)
    }

    /// Records how it ended. Says where the log was, if that was asked.
    pub(crate) fn ended(mut self, end: End, closing: Closing) -> Result<Option<Point>, PgError> {
        match closing {
            Closing::Ended { wrote, point } => {
                self.holder.done(wrote && end != End::Rollback);
                Ok(point)
            }
            Closing::Breach => Err(self.holder.deny(Denial::StoreBreach)),
            Closing::WasAborted => {
                self.holder.failed(Some(UNPROVEN));
                match end {
                    End::Commit | End::CommitAt => Err(PgError::Database(DatabaseError::aborted())),
                    End::Rollback => Ok(None),
                }
            }
            Closing::Failed { error, proven } => {
                self.holder.failed((!proven).then_some(UNPROVEN));
                Err(error.into())
            }
        }
    }

    /// Rolls it back.
    pub(crate) async fn rollback(mut self) -> Result<(), PgError> {
        let closing = self.close(End::Rollback).await?;
        self.ended(End::Rollback, closing).map(drop)
    }

    /// Rolls back what went well, and records what did not, where there was one statement in it.
    pub(crate) async fn finish<T>(self, ran: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        match ran {
            Ok(value) => {
                self.rollback().await?;
                Ok(value)
            }
            Err(error) => {
                self.refused();
                Err(error)
            }
        }
    }

    /// Ends it after its only statement failed, which is on record then. Where the connection is lost with it, the lease
    /// has recorded that.
    pub(crate) fn refused(mut self) {
        self.refused = true;
        self.holder.failed(self.lease.is_some().then_some(REFUSED));
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        let Some(lease) = self.lease.take() else { return };
        if self.only_reads() {
            self.holder.done(false);
        }
        if let Some(pool) = lease.pool() {
            let (witness, scope, refused) = (self.holder.witness(), Arc::clone(&self.scope), self.refused);
            pool.behind_the_scenes(async move { roll_back_behind_the_scenes(&witness, &scope, lease, refused).await });
        }
    }
}

/// There is nobody left to tell but the record.
async fn roll_back_behind_the_scenes(witness: &Witness, scope: &Scope, lease: Lease, refused: bool) {
    // Out of time, the lease itself records it.
    match lease.close_and_clean(scope, End::Rollback).await {
        Closing::Breach => witness.breach("pg.rollback"),
        Closing::WasAborted if refused => {}
        Closing::WasAborted | Closing::Failed { proven: false, .. } => witness.failed_as("pg.rollback", UNPROVEN),
        Closing::Ended { .. } | Closing::Failed { proven: true, .. } => {}
    }
}

/// The deadline and the standing are looked at after so many rows,
const ROWS_PER_CHECK: usize = 64;
/// and before a row that was asked for later than this after the last look.
const CHECK_LASTS: Duration = Duration::from_millis(100);
