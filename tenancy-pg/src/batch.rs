//! Several statements in one round-trip, and where they stopped.

use futures_util::TryStreamExt;
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Either, Executor};

use crate::closing::Closing;
use crate::redact::ends_the_session;
use crate::scope::Ending;

/// Runs statements in the simple protocol, to the first error.
pub(crate) async fn batch(connection: &mut PgConnection, sql: &str) -> Result<Vec<PgRow>, Stopped> {
    let mut rows = Vec::new();
    let mut completed = 0;
    let mut steps = connection.fetch_many(AssertSqlSafe(sql.to_owned()));
    loop {
        match steps.try_next().await {
            Ok(Some(Either::Left(_))) => completed += 1,
            Ok(Some(Either::Right(row))) => rows.push(row),
            Ok(None) => return Ok(rows),
            Err(error) => return Err(Stopped { error, completed, rows }),
        }
    }
}

/// A batch that stopped at an error, after so many completed statements.
pub(crate) struct Stopped {
    pub(crate) error: sqlx::Error,
    pub(crate) completed: usize,
    pub(crate) rows: Vec<PgRow>,
}

impl Stopped {
    /// A connection that could not be shown to be clean.
    pub(crate) fn unclean() -> Self {
        sqlx::Error::WorkerCrashed.into()
    }

    /// Whether it says nothing but that this connection is of no use: it died while it lay in the pool, or is unclean.
    pub(crate) fn calls_for_another(&self) -> bool {
        matches!(self.error, sqlx::Error::WorkerCrashed) || ends_the_session(&self.error)
    }

    /// What it means for a closing batch.
    pub(crate) fn closing(self, ending: &Ending) -> Closing {
        let code = self.error.as_database_error().and_then(|e| e.code()).map(|code| code.into_owned());
        match (self.completed, code.as_deref(), ending.known(self.completed, &self.rows)) {
            (completed, Some(DIVISION_BY_ZERO), None) if completed == ending.proof_at => Closing::Breach,
            (0, Some(IN_FAILED_TRANSACTION), _) => Closing::WasAborted,
            (_, _, Some(false)) => Closing::Breach,
            (_, _, known) => Closing::Failed { error: self.error, proven: known.is_some() },
        }
    }
}

impl From<sqlx::Error> for Stopped {
    fn from(error: sqlx::Error) -> Self {
        Self { error, completed: 0, rows: Vec::new() }
    }
}

impl From<Stopped> for sqlx::Error {
    fn from(stopped: Stopped) -> Self {
        stopped.error
    }
}

const DIVISION_BY_ZERO: &str = "22012";
const IN_FAILED_TRANSACTION: &str = "25P02";
