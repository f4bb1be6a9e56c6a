//! `COPY .. TO STDOUT` in a tenant's scope.

use bytes::Bytes;
use futures_core::stream::BoxStream;
use futures_util::StreamExt;
use sqlx::{SqlSafeStr, SqlStr};

use crate::error::PgError;
use crate::guard::check_query;
use crate::redact::redact;
use crate::stream::{Outlet, stream};
use crate::tenant_tx::TenantTx;

/// What to copy out and in which format, for [`TenantTx::copy_out`].
///
/// The query can't have parameters: the protocol has no place for them. `COPY .. FROM` has no counterpart here, since
/// Postgres refuses it under row level security; see [`BulkInsert`](crate::BulkInsert).
///
/// ```no_run
/// # async fn run(db: &tenancy_pg::TenantDb) -> Result<(), Box<dyn std::error::Error>> {
/// use futures_util::TryStreamExt;
/// use tenancy_pg::CopyOut;
///
/// let mut tx = db.read().await?;
/// let mut chunks = tx.copy_out(CopyOut::query("select id, body from note order by id").csv().header());
/// while let Some(chunk) = chunks.try_next().await? {
///     println!("{} bytes", chunk.len());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct CopyOut {
    query: SqlStr,
    format: &'static str,
    header: bool,
}

impl CopyOut {
    /// The rows of a query, in Postgres' text format.
    pub fn query(sql: impl SqlSafeStr) -> Self {
        Self { query: sql.into_sql_str(), format: "text", header: false }
    }

    /// As comma-separated values.
    pub fn csv(mut self) -> Self {
        self.format = "csv";
        self
    }

    /// In Postgres' binary format, which has no header.
    pub fn binary(mut self) -> Self {
        (self.format, self.header) = ("binary", false);
        self
    }

    /// With a first line of column names.
    pub fn header(mut self) -> Self {
        self.header = self.format != "binary";
        self
    }

    /// The query was found to be one statement that closes no parenthesis it has not opened, and ends on a line of its
    /// own, so that a comment at its end takes nothing with it.
    fn sql(&self) -> String {
        let header = if self.header { ", header" } else { "" };
        format!("copy (\n{}\n) to stdout with (format {}{header})", self.query.as_str(), self.format)
    }
}

impl TenantTx<'_> {
    /// Streams the rows of a query as bytes. A chunk is what the server sends at a time, a row as a rule.
    ///
    /// The deadline and the tenant's standing are checked as with rows. An error, or a stream that is dropped before its
    /// end, ends the transaction: the connection is closed.
    ///
    /// # Errors
    /// In the stream: [`PgError::Forbidden`], recorded, for a text that is not one query: the transaction goes on;
    /// [`PgError::Denied`]; [`PgError::Database`]; [`PgError::Interrupted`].
    pub fn copy_out(&mut self, copy: CopyOut) -> BoxStream<'_, Result<Bytes, PgError>> {
        stream(|out| async move { self.relay_copy(copy, &out).await }).map(|chunk| chunk.map_err(PgError::from)).boxed()
    }

    async fn relay_copy(&mut self, copy: CopyOut, out: &Outlet<Bytes>) -> Result<(), sqlx::Error> {
        if let Err(forbidden) = check_query(copy.query.as_str()) {
            self.forbidden();
            return Err(PgError::Forbidden(forbidden).into());
        }
        self.undo_dropped().await?;
        let mut lease = self.transaction.take().await?;
        // After an error sqlx has not read up to the end of the server's answer, and takes what is left of it for the
        // answer to the next statement: the lease does not come back then.
        let ended = match lease.connection()?.copy_out_raw(&copy.sql()).await {
            Ok(chunks) => self.transaction.give_on(chunks, out).await?,
            Err(error) => Err(error),
        };
        match ended {
            Ok(()) => {
                self.transaction.lease = Some(lease);
                Ok(())
            }
            Err(error) => {
                lease.failed(&error);
                Err(self.stopped(error).await)
            }
        }
    }

    /// Where the server stopped it because the deadline had come, that is said.
    async fn stopped(&mut self, error: sqlx::Error) -> sqlx::Error {
        match self.transaction.check().await {
            Ok(()) => redact(error),
            Err(denied) => denied.into(),
        }
    }
}
