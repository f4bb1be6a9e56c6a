//! One statement with its arguments, taken out of whatever sqlx's query types made of it.

use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgStatement};
use sqlx::{Execute, Postgres, SqlStr};

use crate::error::PgError;
use crate::guard;

/// A statement with an argument list, so the extended protocol carries it, and that takes one statement only.
pub(crate) struct OneStatement {
    sql: SqlStr,
    arguments: Option<PgArguments>,
    prepared: Option<PgStatement>,
    persistent: bool,
}

impl OneStatement {
    /// Takes a query apart, and asks the guard.
    ///
    /// # Errors
    /// [`PgError::SimpleProtocol`] for one without an argument list; [`PgError::Forbidden`], after `refused` was called
    /// to record it; sqlx's own for arguments that can't be encoded.
    pub(crate) fn take<'q, E: Execute<'q, Postgres>>(
        mut query: E,
        refused: impl FnOnce(),
    ) -> Result<Self, sqlx::Error> {
        let prepared = query.statement().cloned();
        let arguments = query.take_arguments().map_err(|e| crate::redact::redact(sqlx::Error::Encode(e)))?;
        let persistent = query.persistent();
        if arguments.is_none() {
            return Err(PgError::SimpleProtocol.into());
        }
        let sql = guarded(query.sql(), refused)?;
        Ok(Self { sql, arguments, prepared, persistent })
    }

    /// Whether it says of itself that it reads. A function that it calls may write all the same.
    pub(crate) fn reads(&self) -> bool {
        let word = guard::first_keyword(self.sql.as_str()).unwrap_or_default();
        ["select", "table", "values"].iter().any(|reading| word.eq_ignore_ascii_case(reading))
    }

    /// The same, with no name on the server.
    pub(crate) fn unnamed(self) -> Self {
        Self { persistent: false, ..self }
    }
}

/// Lets a text through that the guard admits.
///
/// # Errors
/// [`PgError::Forbidden`], after `refused` was called to record it.
pub(crate) fn guarded(sql: SqlStr, refused: impl FnOnce()) -> Result<SqlStr, PgError> {
    match guard::check(sql.as_str()) {
        Ok(()) => Ok(sql),
        Err(forbidden) => {
            refused();
            Err(forbidden.into())
        }
    }
}

impl<'q> Execute<'q, Postgres> for OneStatement {
    fn sql(self) -> SqlStr {
        self.sql
    }

    fn statement(&self) -> Option<&PgStatement> {
        self.prepared.as_ref()
    }

    fn take_arguments(&mut self) -> Result<Option<PgArguments>, BoxDynError> {
        // Empty, not `None`: a second call must not fall back to the simple protocol.
        Ok(Some(self.arguments.take().unwrap_or_default()))
    }

    fn persistent(&self) -> bool {
        self.persistent
    }
}
