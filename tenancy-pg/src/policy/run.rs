//! Running a migration step by step.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection, Executor};

use super::adopt::LOCK_TIMEOUT;
use super::migration::Migration;
use super::step::{Run, Step};
use crate::error::PgError;
use crate::options::owner_options;

/// How far a step under way is, see [`Migration::run_watched`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// It begins.
    Begun,
    /// Somebody held on to what it needs: it let the others pass, so many times by now.
    GaveWay {
        /// How often, 29 at most.
        times: u32,
    },
    /// A batch is done. It may go through the table once more, for rows that were moved behind it.
    Pages {
        /// Pages gone through, 8 kB each.
        done: i64,
        /// Pages of the table when it was begun.
        of: i64,
    },
    /// It is done, and stays so whatever comes.
    Done,
}

impl Migration {
    /// Runs the steps, each in a transaction of its own unless it needs none, as the owner of the tables. A step that
    /// waits for a lock for half a second lets the others pass and tries again, up to 30 times.
    ///
    /// Dropped at any await, or failed: the steps before stay done, and the one under way is rolled back or, if it was
    /// building an index, leaves an invalid one. Plan again and run that.
    ///
    /// # Errors
    /// [`PgError::Plan`] before the first step of an adoption that cuts somebody off ([`cut_off`](Self::cut_off));
    /// [`PgError::Step`] with the step's reason and what the server said, or [`PgError`] when the owner can't connect.
    pub async fn run(&self, owner: PgConnectOptions) -> Result<(), PgError> {
        self.run_watched(owner, |_step, _progress| {}).await
    }

    /// The same, and tells how far it is. Nothing waits for what is done with it but the next statement.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_watched(
        &self,
        owner: PgConnectOptions,
        mut watch: impl FnMut(&Step, Progress) + Send,
    ) -> Result<(), PgError> {
        self.may_begin()?;
        let mut connection = PgConnection::connect_with(&owner_options(owner)).await?;
        let timeout = format!("set lock_timeout = {}", LOCK_TIMEOUT.as_millis());
        connection.execute(AssertSqlSafe(timeout)).await?;
        for step in self.steps() {
            watch(step, Progress::Begun);
            patiently(&mut connection, step, &mut |progress| watch(step, progress))
                .await
                .map_err(|e| PgError::Step { reason: step.reason.clone(), source: Box::new(e) })?;
            watch(step, Progress::Done);
        }
        Ok(connection.close().await?)
    }
}

async fn patiently(
    connection: &mut PgConnection,
    step: &Step,
    watch: &mut (impl FnMut(Progress) + Send),
) -> Result<(), PgError> {
    for times in 1..TRIES {
        match once(connection, step, watch).await {
            Err(PgError::Database(e)) if e.sqlstate() == Some(LOCK_NOT_AVAILABLE) => {
                watch(Progress::GaveWay { times });
                tokio::time::sleep(PAUSE).await;
            }
            other => return other,
        }
    }
    once(connection, step, watch).await
}

async fn once(
    connection: &mut PgConnection,
    step: &Step,
    watch: &mut (impl FnMut(Progress) + Send),
) -> Result<(), PgError> {
    match &step.run {
        Run::InTransaction => {
            let mut transaction = connection.begin().await?;
            transaction.execute(AssertSqlSafe(step.up.clone())).await?;
            Ok(transaction.commit().await?)
        }
        Run::Alone => {
            connection.execute(AssertSqlSafe(step.up.clone())).await?;
            Ok(())
        }
        Run::InBatches { left, pages } => in_batches(connection, &step.up, [left, pages], watch).await,
    }
}

/// From the first page of the table to the last, as often as rows are left: those that were moved behind us meanwhile.
async fn in_batches(
    connection: &mut PgConnection,
    sql: &str,
    [left, pages]: [&str; 2],
    watch: &mut (impl FnMut(Progress) + Send),
) -> Result<(), PgError> {
    let number = async |connection: &mut PgConnection, sql: &str| -> Result<i64, PgError> {
        Ok(sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(connection).await?)
    };
    while number(connection, left).await? > 0 {
        let end = number(connection, pages).await?;
        let mut page = 0;
        while page < end {
            let (from, to) = (format!("({page},0)"), format!("({},0)", page + PAGES));
            sqlx::query(AssertSqlSafe(sql.to_owned())).bind(from).bind(to).execute(&mut *connection).await?;
            page += PAGES;
            watch(Progress::Pages { done: page.min(end), of: end });
        }
    }
    Ok(())
}

const TRIES: u32 = 30;
const PAUSE: Duration = Duration::from_millis(200);
/// Of the table, 8 kB each.
const PAGES: i64 = 64;
const LOCK_NOT_AVAILABLE: &str = "55P03";
