//! One connection, and statements that never last.

use futures_util::TryStreamExt;
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Either, Row};

use super::progress::ProbeProgress;
use crate::error::PgError;
use crate::options::PgOptions;
use crate::signed::NONCE;

/// A transaction that is rolled back whatever happens: by [`leave`](Self::leave), or by the server when the connection
/// goes with this value.
pub(super) struct Session {
    options: PgOptions,
    setting: String,
    connection: PgConnection,
    pub(super) progress: ProbeProgress,
}

/// What the server said to one attempt.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The rows of the last statement as texts, and how many rows it touched.
    Done { rows: Vec<Vec<Option<String>>>, touched: u64 },
    /// The SQLSTATE, and the constraint if one stood in the way.
    Refused { code: String, constraint: Option<String> },
}

impl Session {
    pub(super) async fn open(options: &PgOptions, setting: &str, progress: &ProbeProgress) -> Result<Self, PgError> {
        let connection = options.session(setting).await?;
        Ok(Self { options: options.clone(), setting: setting.to_owned(), connection, progress: progress.clone() })
    }

    /// Begins, runs what prepares the attempts, and marks the place to which each of them goes back. The nonce of the
    /// transaction; `None` when the preparation was refused.
    pub(super) async fn enter(&mut self, preparation: &str) -> Result<Option<String>, PgError> {
        let sql = format!("rollback; begin; select {NONCE}; {preparation}; savepoint {MARK}");
        match self.run(&sql).await? {
            Outcome::Done { rows, .. } => Ok(rows.into_iter().next().and_then(|row| row.into_iter().next()?)),
            Outcome::Refused { .. } => Ok(None),
        }
    }

    pub(super) async fn leave(&mut self) -> Result<(), PgError> {
        self.run("rollback").await.map(drop)
    }

    /// One attempt, which sees nothing of those before it.
    pub(super) async fn attempt(&mut self, sql: &str) -> Result<Outcome, PgError> {
        self.progress.attempt();
        self.run(&format!("rollback to savepoint {MARK}; {sql}")).await
    }

    /// To the place from which attempts are made.
    pub(super) async fn go_back(&mut self) -> Result<(), PgError> {
        self.run(&format!("rollback to savepoint {MARK}")).await.map(drop)
    }

    /// The lines of a `COPY .. TO STDOUT` in a scope; `None` when it was refused.
    ///
    /// The driver loses its place in the protocol when the server refuses a COPY, so the connection is given up then,
    /// and the caller has to [`enter`](Self::enter) again.
    pub(super) async fn copy(&mut self, scope: &str, sql: &str) -> Result<Option<String>, PgError> {
        self.progress.attempt();
        self.run(&format!("rollback to savepoint {MARK}; {scope}")).await?;
        let copied = async {
            let chunks: Vec<_> = self.connection.copy_out_raw(sql).await?.try_collect().await?;
            Ok::<_, sqlx::Error>(chunks.concat())
        };
        match copied.await {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(sqlx::Error::Database(_)) => {
                self.connection = self.options.session(&self.setting).await?;
                Ok(None)
            }
            Err(e) => Err(e.into()),
        }
    }

    /// A question about the catalog; its only column.
    pub(super) async fn ask(&mut self, sql: &str) -> Result<Vec<String>, PgError> {
        let rows = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(&mut self.connection).await?;
        Ok(rows.iter().filter_map(|row| texts(row).into_iter().next()?).collect())
    }

    async fn run(&mut self, sql: &str) -> Result<Outcome, PgError> {
        let (mut rows, mut touched) = (Vec::new(), 0);
        let mut answers = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_many(&mut self.connection);
        loop {
            match answers.try_next().await {
                Ok(Some(Either::Right(row))) => rows.push(texts(&row)),
                Ok(Some(Either::Left(done))) => touched = done.rows_affected(),
                Ok(None) => return Ok(Outcome::Done { rows, touched }),
                Err(sqlx::Error::Database(e)) if !e.code().is_some_and(|code| code.starts_with("57P")) => {
                    let code = e.code().unwrap_or_default().into_owned();
                    return Ok(Outcome::Refused { code, constraint: e.constraint().map(str::to_owned) });
                }
                Err(e) => return Err(e.into()),
            }
        }
    }
}

impl Outcome {
    /// The number in the last row's first column: what a `select count(*)` found.
    pub(super) fn count(&self) -> Option<u64> {
        match self {
            Self::Done { rows, .. } => rows.last()?.first()?.as_deref()?.parse().ok(),
            Self::Refused { .. } => None,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self, Self::Done { .. })
    }

    pub(super) fn touched(&self) -> u64 {
        match self {
            Self::Done { touched, .. } => *touched,
            Self::Refused { .. } => 0,
        }
    }

    /// Whether a constraint stopped it, and so no policy did: `WITH CHECK` is evaluated before any constraint (ExecInsert
    /// and ExecUpdateAct in nodeModifyTable.c). A partition that does not fit is found earlier and has no constraint's
    /// name.
    pub(super) fn met_a_constraint(&self) -> bool {
        match self {
            Self::Done { .. } => false,
            Self::Refused { code, constraint } => code.starts_with("23") && (code != "23514" || constraint.is_some()),
        }
    }

    pub(super) fn constraint(&self) -> Option<&str> {
        match self {
            Self::Done { .. } => None,
            Self::Refused { constraint, .. } => constraint.as_deref(),
        }
    }

    pub(super) fn code(&self) -> Option<&str> {
        match self {
            Self::Done { .. } => None,
            Self::Refused { code, .. } => Some(code),
        }
    }
}

/// The simple protocol answers in texts.
fn texts(row: &PgRow) -> Vec<Option<String>> {
    let text = |at| row.try_get_raw(at).ok()?.as_str().ok().map(str::to_owned);
    (0..row.len()).map(text).collect()
}

const MARK: &str = "tenancy_probe";
