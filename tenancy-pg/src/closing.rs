//! How a transaction ended, as its closing batch says.

use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::replica::Point;
use crate::scope::Ending;

/// How a closing batch ended.
pub(crate) enum Closing {
    /// The transaction ended as asked.
    Ended {
        /// Whether it wrote anything.
        wrote: bool,
        /// How far the log had come behind its commit, where that was asked and answered.
        point: Option<Point>,
    },
    /// It was not the transaction that was opened, or not in its scope any more. Nothing was committed.
    Breach,
    /// The transaction was aborted before, so nothing could be proven.
    WasAborted,
    /// The server refused the end, or the connection broke.
    Failed {
        /// Why.
        error: sqlx::Error,
        /// Whether the scope was proven before that.
        proven: bool,
    },
}

impl Closing {
    /// What a closing batch said whose transaction has ended.
    pub(crate) fn ended(ending: &Ending, rows: &[PgRow]) -> Self {
        let point = ending.tells_point.then(|| rows.get(1).and_then(Point::of)).flatten();
        Self::Ended { wrote: wrote(rows), point }
    }
}

/// What the first statement of a closing batch said. Not known counts as yes: a record too many is better than none.
pub(crate) fn wrote(rows: &[PgRow]) -> bool {
    rows.first().and_then(|row| row.try_get(1).ok()).unwrap_or(true)
}
