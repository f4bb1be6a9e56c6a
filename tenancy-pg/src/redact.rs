//! Errors of the driver without what they quote.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::io;

use sqlx::error::{DatabaseError as SqlxDatabaseError, ErrorKind};
use sqlx::postgres::{PgDatabaseError, PgSeverity};

use crate::error::PgError;

/// A refusal of the server, without its texts: message, detail and hint quote values ("Key (email)=(..) already
/// exists").
///
/// The code, the kind, and the names of the constraint and the table stay, so handlers that branch on them work as with
/// sqlx's own error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseError {
    code: Option<String>,
    constraint: Option<String>,
    table: Option<String>,
}

impl DatabaseError {
    pub(crate) fn of(error: &dyn SqlxDatabaseError) -> Self {
        Self {
            code: error.code().map(Cow::into_owned),
            constraint: error.constraint().map(str::to_owned),
            table: error.table().map(str::to_owned),
        }
    }

    /// What the server says to every statement of an aborted transaction.
    pub(crate) fn aborted() -> Self {
        Self { code: Some("25P02".to_owned()), constraint: None, table: None }
    }

    /// The SQLSTATE.
    #[must_use]
    pub fn sqlstate(&self) -> Option<&str> {
        self.code.as_deref()
    }
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code.as_deref().unwrap_or("unknown");
        write!(f, "{} (SQLSTATE {code})", SqlxDatabaseError::message(self))
    }
}

impl StdError for DatabaseError {}

impl SqlxDatabaseError for DatabaseError {
    fn message(&self) -> &str {
        match self.kind() {
            ErrorKind::UniqueViolation => "a unique constraint was violated",
            ErrorKind::ForeignKeyViolation => "a foreign key was violated",
            ErrorKind::NotNullViolation => "a value that may not be null was",
            ErrorKind::CheckViolation => "a check constraint was violated",
            ErrorKind::ExclusionViolation => "an exclusion constraint was violated",
            _other => "the server refused the statement",
        }
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        self.code.as_deref().map(Cow::Borrowed)
    }

    fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
        self
    }

    fn constraint(&self) -> Option<&str> {
        self.constraint.as_deref()
    }

    fn table(&self) -> Option<&str> {
        self.table.as_deref()
    }

    /// As sqlx maps the codes of class 23.
    fn kind(&self) -> ErrorKind {
        match self.code.as_deref() {
            Some("23505") => ErrorKind::UniqueViolation,
            Some("23503") => ErrorKind::ForeignKeyViolation,
            Some("23502") => ErrorKind::NotNullViolation,
            Some("23514") => ErrorKind::CheckViolation,
            Some("23P01") => ErrorKind::ExclusionViolation,
            _other => ErrorKind::Other,
        }
    }
}

/// Whether the session is over: the connection broke, or the server (class 57P: shut down, terminated) or a pooler has
/// ended it.
pub(crate) fn ends_the_session(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) => true,
        sqlx::Error::Database(e) => {
            let severity = e.try_downcast_ref::<PgDatabaseError>().map(PgDatabaseError::severity);
            matches!(severity, Some(PgSeverity::Fatal | PgSeverity::Panic))
                || e.code().is_some_and(|code| code.starts_with("57P"))
        }
        _other => false,
    }
}

/// Whether a connection may well be had a little later: nobody listens yet, the server is starting, or it is full.
pub(crate) fn may_connect_later(error: &sqlx::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    match error {
        sqlx::Error::Io(e) => matches!(e.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset),
        sqlx::Error::Database(e) => e.code().is_some_and(|code| matches!(&*code, "57P03" | "53300")),
        _other => false,
    }
}

/// The same error without any text that may quote data, a secret or a URL. Idempotent.
pub(crate) fn redact(error: sqlx::Error) -> sqlx::Error {
    use sqlx::Error;
    match error {
        Error::Database(e) => Error::Database(Box::new(DatabaseError::of(&*e))),
        Error::Configuration(e) if e.is::<PgError>() => Error::Configuration(e),
        Error::Configuration(_) => Error::Configuration(Box::new(Withheld)),
        Error::InvalidArgument(_) => Error::InvalidArgument(Withheld.to_string()),
        Error::Io(e) => Error::Io(io::Error::from(e.kind())),
        Error::Tls(_) => Error::Tls(Box::new(Withheld)),
        Error::Protocol(_) => Error::Protocol(Withheld.to_string()),
        Error::ColumnDecode { index, source: _ } => Error::ColumnDecode { index, source: Box::new(Withheld) },
        Error::Encode(_) => Error::Encode(Box::new(Withheld)),
        Error::Decode(_) => Error::Decode(Box::new(Withheld)),
        // Names of the caller's own code or of the catalog, and numbers.
        Error::TypeNotFound { .. } | Error::ColumnNotFound(_) | Error::ColumnIndexOutOfBounds { .. } => error,
        Error::RowNotFound
        | Error::PoolTimedOut
        | Error::PoolClosed
        | Error::WorkerCrashed
        | Error::InvalidSavePointStatement
        | Error::BeginFailed => error,
        _other => Error::Protocol(Withheld.to_string()),
    }
}

/// Stands where a text was.
#[derive(Debug, thiserror::Error)]
#[error("text withheld")]
struct Withheld;

#[cfg(test)]
mod tests {
    use super::*;

    /// Every text that a chain of errors shows.
    fn shown(error: &dyn StdError) -> String {
        let mut all = format!("{error:?} {error:#?}");
        let mut next = Some(error);
        while let Some(e) = next {
            all += &format!(" {e} {e:?}");
            next = e.source();
        }
        all
    }

    #[test]
    fn no_variant_keeps_a_text() {
        use sqlx::Error;
        let secret = || Box::new(io::Error::other("hunter2"));
        for error in [
            Error::Configuration(secret()),
            Error::InvalidArgument("hunter2".into()),
            Error::Io(io::Error::other("hunter2")),
            Error::Tls(secret()),
            Error::Protocol("hunter2".into()),
            Error::ColumnDecode { index: "0".into(), source: secret() },
            Error::Encode(secret()),
            Error::Decode(secret()),
            Error::AnyDriverError(secret()),
            sqlx::migrate::MigrateError::Execute(Error::Protocol("hunter2".into())).into(),
        ] {
            assert!(shown(&error).contains("hunter2"));
            let redacted = redact(error);
            assert!(!shown(&redacted).contains("hunter2"), "{redacted:?}");
            let twice = redact(redacted);
            assert!(!shown(&twice).contains("hunter2"), "{twice:?}");
        }
    }
}
