//! Whether a server is a standby of the primary, and has replayed enough.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Row};

use super::point::{POINT, Point};
use crate::error::PgError;
use crate::ident::quote_text;
use crate::options::PgOptions;

/// What was found out about a server that is to be read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fitness {
    /// It has replayed what must be seen.
    Fit,
    /// Not yet.
    Behind,
    /// It is not known to follow the timeline that the primary is on.
    Diverged,
    Fault(ReplicaFault),
}

/// Why a server can't be read from in the place of the primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplicaFault {
    /// It takes writes of its own: it was promoted, or never was a standby.
    #[error("the replica is no standby")]
    NoStandby,
    /// It is another cluster, another database of it, or one logs in there as another role.
    #[error("the replica is of another cluster or database, or another role logs in there")]
    Foreign,
    /// What was given as the primary is a standby itself.
    #[error("what was given as the primary is a standby")]
    NoPrimary,
}

impl Fitness {
    /// From the value of [`fitness`].
    pub(super) fn of(word: &str) -> Self {
        match word {
            "fit" => Self::Fit,
            "diverged" => Self::Diverged,
            "no standby" => Self::Fault(ReplicaFault::NoStandby),
            "foreign" => Self::Fault(ReplicaFault::Foreign),
            _behind => Self::Behind,
        }
    }
}

/// The primary, as a standby of it must show itself too.
pub(super) struct Primary {
    /// The value of [`WHO`].
    pub(super) who: String,
    pub(super) point: Point,
}

impl Primary {
    /// Asks it, on a connection of its own.
    pub(super) async fn ask(options: &PgOptions, setting: &str) -> Result<Self, PgError> {
        let mut connection = options.session(setting).await?;
        let asked = Self::of(&mut connection).await;
        let _closed = connection.close().await;
        asked
    }

    async fn of(connection: &mut PgConnection) -> Result<Self, PgError> {
        let standby = format!("select {WHO}, pg_catalog.pg_is_in_recovery()");
        let row = last_row(connection, &standby).await?;
        if row.try_get(1)? {
            return Err(PgError::Replica(ReplicaFault::NoPrimary));
        }
        let point = Point::of(&last_row(connection, POINT).await?).ok_or(PgError::RowNotFound)?;
        Ok(Self { who: row.try_get(0)?, point })
    }
}

/// An expression that shows whether the server is fit: asked of the very session that is about to read, since a name or
/// a pooler may lead to another server each time.
///
/// A standby keeps the timeline of its last restart point in its control file. What it has replayed since can only be of
/// that timeline or of a later one, so right after a promotion a standby that follows is not yet known to; the next
/// restart point shows it.
pub(super) fn fitness(who: &str, needed: Point) -> String {
    format!(
        "case when not pg_catalog.pg_is_in_recovery() then 'no standby' \
         when {WHO} operator(pg_catalog.<>) {} then 'foreign' \
         when (select timeline_id from pg_catalog.pg_control_checkpoint()) operator(pg_catalog.<>) {} then 'diverged' \
         when pg_catalog.pg_last_wal_replay_lsn() operator(pg_catalog.>=) '{needed}'::pg_catalog.pg_lsn then 'fit' \
         else 'behind' end",
        quote_text(who),
        needed.timeline,
    )
}

/// Asks a server whether it is fit, on a connection of its own.
pub(super) async fn ask(options: &PgOptions, setting: &str, fitness: &str) -> Result<Fitness, PgError> {
    let mut connection = options.session(setting).await?;
    let asked = last_row(&mut connection, &format!("select {fitness}")).await;
    let _closed = connection.close().await;
    Ok(Fitness::of(asked?.try_get(0)?))
}

/// In the simple protocol, which names no statement.
async fn last_row(connection: &mut PgConnection, sql: &str) -> Result<sqlx::postgres::PgRow, PgError> {
    let rows = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).fetch_all(connection).await?;
    rows.into_iter().next_back().ok_or(PgError::RowNotFound)
}

/// The cluster, the database in it, and who is logged in. A standby has the first two from its primary; the number of the
/// cluster was made when that was.
const WHO: &str = "(select pg_catalog.concat_ws('/', c.system_identifier, d.oid, session_user, current_user) \
                   from pg_catalog.pg_control_system() as c, pg_catalog.pg_database as d \
                   where d.datname operator(pg_catalog.=) pg_catalog.current_database())";
