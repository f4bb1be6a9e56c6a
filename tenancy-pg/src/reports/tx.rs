//! A transaction of a report.

use std::fmt;
use std::sync::Arc;

use sqlx::postgres::{PgStatement, PgTypeInfo};
use sqlx::{Postgres, SqlStr};
use tenancy_core::Crossing;

use crate::error::PgError;
use crate::executor::{Step, executor};
use crate::holder::Holder;
use crate::lease::Lease;
use crate::options::PgOptions;
use crate::pool::Pool;
use crate::scope::{Access, Scope};
use crate::statement::OneStatement;
use crate::stream::Outlet;
use crate::transaction::Transaction;
use crate::tx_options::{Isolation, TxOptions};

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
    transaction: Transaction<'r>,
}

impl<'r> ReportTx<'r> {
    pub(super) async fn open(
        pool: &Arc<Pool>,
        options: &PgOptions,
        crossing: &'r Crossing<'r>,
        scope: &Arc<Scope>,
    ) -> Result<Self, PgError> {
        let remaining = crossing.remaining();
        let how = TxOptions::new().read_only().isolation(Isolation::RepeatableRead);
        let opening = scope.opening(how.within(remaining, options.shortened(remaining)));
        let holder = Holder::Operator(crossing);
        let lease = Lease::open(pool, scope, &opening, holder.witness());
        Ok(Self { transaction: Transaction::open(holder, scope, Access::ReadOnly, lease).await? })
    }

    /// Ends it, after the server has shown that its reach is still what it began with.
    ///
    /// Dropped before it answers: the connection is closed.
    ///
    /// # Errors
    /// [`Denial::StoreBreach`](tenancy_core::Denial::StoreBreach), recorded, when a statement has changed what the server
    /// holds of the reach;
    /// [`PgError::Interrupted`]; or [`PgError::Driver`] when the connection broke.
    pub async fn end(self) -> Result<(), PgError> {
        self.transaction.rollback().await
    }

    /// Ends it where there was one statement in it.
    pub(super) async fn finish<T>(self, ran: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        self.transaction.finish(ran).await
    }

    fn forbidden(&self) {
        self.transaction.forbidden();
    }

    pub(super) async fn relay(&mut self, statement: OneStatement, out: &Outlet<Step>) -> Result<(), sqlx::Error> {
        self.transaction.relay(statement, out).await
    }

    pub(super) async fn prepare(&mut self, sql: SqlStr, types: &[PgTypeInfo]) -> Result<PgStatement, sqlx::Error> {
        self.transaction.prepare(sql, types).await
    }

    pub(super) async fn describe_statement(&mut self, sql: SqlStr) -> Result<sqlx::Describe<Postgres>, sqlx::Error> {
        self.transaction.describe(sql).await
    }
}

executor!(&'c mut ReportTx<'_>);

impl fmt::Debug for ReportTx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReportTx")
    }
}
