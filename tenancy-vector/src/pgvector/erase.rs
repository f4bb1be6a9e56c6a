//! Dropping a life, on a role and connections of its own.

use std::fmt;

use tenancy_core::{Life, StoreVerdict};
use tenancy_pg::PgError;
use tenancy_pg::sqlx::postgres::{PgConnectOptions, PgConnection};
use tenancy_pg::sqlx::{self, AssertSqlSafe, ConnectOptions, Connection};
use uuid::Uuid;

use super::error::FOREIGN_KEY;
use super::tables::{ERASING, ERASING_LIFE, PgVectorTables};
use crate::error::BackendError;

/// How to log in as the role that drops lives.
///
/// Each call has a connection of its own, which is closed at its end or when its future is dropped: what was begun is
/// then rolled back by the server.
pub(super) struct LifeEraser {
    login: PgConnectOptions,
}

impl LifeEraser {
    pub(super) fn new(login: PgConnectOptions) -> Self {
        // What the server says quotes data.
        Self { login: login.disable_statement_logging().options([("client_min_messages", "error")]) }
    }

    pub(super) async fn drop_life(&self, tables: &PgVectorTables, life: Life) -> Result<(), BackendError> {
        let mut run = Run::begin(&self.login, tables, life).await.map_err(failed)?;
        let dropped = run.drop_life().await.map_err(failed);
        let _closed = run.connection.close().await;
        dropped
    }

    pub(super) async fn verify(&self, tables: &PgVectorTables, life: Life) -> Result<StoreVerdict, BackendError> {
        let mut run = Run::begin(&self.login, tables, life).await.map_err(failed)?;
        let verdict = run.verdict().await.map_err(failed);
        let _closed = run.connection.close().await;
        verdict
    }
}

struct Run<'t> {
    connection: PgConnection,
    tables: &'t PgVectorTables,
    life: Uuid,
}

impl<'t> Run<'t> {
    async fn begin(login: &PgConnectOptions, tables: &'t PgVectorTables, life: Life) -> Result<Self, sqlx::Error> {
        let mut run = Self { connection: login.connect().await?, tables, life: life.uuid() };
        run.see(ERASING_LIFE, run.life).await?;
        Ok(run)
    }

    /// Lets this connection see the rows of a life, or of a tenant, and of no other.
    async fn see(&mut self, setting: &'static str, whose: Uuid) -> Result<(), sqlx::Error> {
        // A uuid needs no quoting.
        sqlx::raw_sql(AssertSqlSafe(format!("set {setting} = '{whose}'"))).execute(&mut self.connection).await?;
        Ok(())
    }

    async fn drop_life(&mut self) -> Result<(), sqlx::Error> {
        let (points, lives) = (&self.tables.points, &self.tables.lives);
        // A life that never wrote has no row yet. It gets one, so that a late writer can't enter it: under the row key of a
        // tenant that has no other, and if it has another, one row of a life is all there can be.
        let closed =
            format!("insert into {lives} (tenant_id, life, open) values ($1, $1, false) on conflict (life) do nothing");
        match sqlx::query(AssertSqlSafe(closed)).bind(self.life).execute(&mut self.connection).await {
            // The registry of tenants has let the life go, and takes nothing of it any more.
            Err(error) if is_foreign_key(&error) => return Ok(()),
            entered => {
                let _now_or_before = entered?;
            }
        }
        let Some((tenant, true)) = self.found().await? else { return Ok(()) };
        self.see(ERASING, tenant).await?;
        let portion = format!(
            "delete from {points} where tenant_id = $1 and id in (select id from {points} where tenant_id = $1 limit 1000)"
        );
        let close = format!("update {lives} set open = false where life = $1");
        let mut tries = TRIES;
        loop {
            let deleted =
                sqlx::query(AssertSqlSafe(portion.as_str())).bind(tenant).execute(&mut self.connection).await?;
            if deleted.rows_affected() > 0 {
                continue;
            }
            // Waits for whoever is putting a point in. If there is one, the server does not let the life be closed.
            match sqlx::query(AssertSqlSafe(close.as_str())).bind(self.life).execute(&mut self.connection).await {
                Err(error) if is_foreign_key(&error) && tries > 0 => tries -= 1,
                closed => return closed.map(drop),
            }
        }
    }

    /// The tenant of the life, and whether the life is open.
    async fn found(&mut self) -> Result<Option<(Uuid, bool)>, sqlx::Error> {
        let sql = format!("select tenant_id, open from {} where life = $1", self.tables.lives);
        sqlx::query_as(AssertSqlSafe(sql)).bind(self.life).fetch_optional(&mut self.connection).await
    }

    /// Counts twice: as the server likes, and by a scan of the whole table, which believes no index.
    async fn verdict(&mut self) -> Result<StoreVerdict, sqlx::Error> {
        let tenant = match self.found().await? {
            Some((tenant, false)) => tenant,
            Some((_, true)) => return Ok(StoreVerdict::Failed),
            None => return Ok(StoreVerdict::Unverifiable { why: NOT_THERE.to_owned() }),
        };
        self.see(ERASING, tenant).await?;
        let sql = format!("select count(*) from {} where tenant_id = $1", self.tables.points);
        let mut left = 0_i64;
        for setting in ["on", "off"] {
            let indexes = format!(
                "set enable_indexscan = {setting}; set enable_indexonlyscan = {setting}; set enable_bitmapscan = {setting}"
            );
            sqlx::raw_sql(AssertSqlSafe(indexes)).execute(&mut self.connection).await?;
            let count = sqlx::query_scalar(AssertSqlSafe(sql.as_str())).bind(tenant);
            left = left.max(count.fetch_one(&mut self.connection).await?);
        }
        Ok(if left == 0 { StoreVerdict::LogicalOnly } else { StoreVerdict::Failed })
    }
}

/// In an erasure nobody's context is at hand, and no key to a life fails but for a reason.
fn failed(error: sqlx::Error) -> BackendError {
    BackendError::failed(PgError::from(error))
}

fn is_foreign_key(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.code().as_deref() == Some(FOREIGN_KEY))
}

impl fmt::Debug for LifeEraser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LifeEraser(..)")
    }
}

const NOT_THERE: &str = "nothing was dropped, or the registry of tenants has let the life go";
/// How often somebody may put a point in between the last portion and the closing.
const TRIES: u32 = 100;
