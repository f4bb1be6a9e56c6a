//! Dropping a life, a tenant's or a shared corpus', on a role and connections of its own.

use tenancy_core::{Life, StoreVerdict};
use tenancy_pg::sqlx::postgres::PgConnection;
use tenancy_pg::sqlx::{self, AssertSqlSafe, Connection};
use uuid::Uuid;

use super::error::FOREIGN_KEY;
use super::login::{Login, failed};
use super::pair::{Pair, quoted_text};
use super::registry::{self, Registered};
use crate::error::BackendError;

/// Each call has a connection of its own, which is closed at its end or when its future is dropped: what was begun is then
/// rolled back by the server.
pub(super) async fn drop_life(login: &Login, tables: &Pair, life: Life) -> Result<(), BackendError> {
    let mut run = Run::begin(login, tables, life).await?;
    let dropped = run.drop_life().await.map_err(failed);
    let _closed = run.connection.close().await;
    dropped
}

/// As [`drop_life`], and changes nothing.
pub(super) async fn verify(login: &Login, tables: &Pair, life: Life) -> Result<StoreVerdict, BackendError> {
    let mut run = Run::begin(login, tables, life).await?;
    let verdict = run.verdict().await.map_err(failed);
    let _closed = run.connection.close().await;
    verdict
}

struct Run<'t> {
    connection: PgConnection,
    tables: &'t Pair,
    life: Uuid,
}

impl<'t> Run<'t> {
    async fn begin(login: &Login, tables: &'t Pair, life: Life) -> Result<Self, BackendError> {
        let mut run = Self { connection: login.connect(tables).await?, tables, life: life.uuid() };
        let [_, of_lives] = tables.whose.settings();
        run.see(of_lives, &run.life.to_string()).await.map_err(failed)?;
        Ok(run)
    }

    /// Lets this connection see the rows of a life, or of an owner, and of no other.
    async fn see(&mut self, setting: &'static str, whose: &str) -> Result<(), sqlx::Error> {
        let set = format!("set {setting} = {}", quoted_text(whose));
        sqlx::raw_sql(AssertSqlSafe(set)).execute(&mut self.connection).await?;
        Ok(())
    }

    async fn drop_life(&mut self) -> Result<(), sqlx::Error> {
        let Pair { points, lives, .. } = self.tables;
        let (owner, of_owner, nobodys) = (self.tables.owner(), self.of_owner(), self.tables.keys.nobodys());
        // A life that never wrote has no row yet. It gets one, so that a late writer can't enter it: under the row key of a
        // tenant that has no other, and if it has another, one row of a life is all there can be.
        let closed = format!(
            "insert into {lives} ({owner}, life, open) values ({nobodys}, $1, false) on conflict (life) do nothing"
        );
        match sqlx::query(AssertSqlSafe(closed)).bind(self.life).execute(&mut self.connection).await {
            // The registry of tenants has let the life go, and takes nothing of it any more.
            Err(error) if is_foreign_key(&error) => return Ok(()),
            entered => {
                let _now_or_before = entered?;
            }
        }
        let Some((of_life, true)) = self.found().await? else { return Ok(()) };
        self.see_points(&of_life).await?;
        let portion = format!(
            "delete from {points} where {of_owner} and id in (select id from {points} where {of_owner} limit 1000)"
        );
        let close = format!("update {lives} set open = false where life = $1");
        let mut tries = TRIES;
        loop {
            let deleted =
                sqlx::query(AssertSqlSafe(portion.as_str())).bind(&of_life).execute(&mut self.connection).await?;
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

    /// That a point is of an owner, whose key as a text is `$1`.
    fn of_owner(&self) -> String {
        format!("{} = $1::text::{}", self.tables.owner(), self.tables.keys.sql())
    }

    async fn see_points(&mut self, owner: &str) -> Result<(), sqlx::Error> {
        let [of_points, _] = self.tables.whose.settings();
        self.see(of_points, owner).await
    }

    /// The owner of the life, as a text, and whether the life is open.
    async fn found(&mut self) -> Result<Option<(String, bool)>, sqlx::Error> {
        let sql = format!("select {}::text, open from {} where life = $1", self.tables.owner(), self.tables.lives);
        sqlx::query_as(AssertSqlSafe(sql)).bind(self.life).fetch_optional(&mut self.connection).await
    }

    /// What is left, and whether anybody can add to it.
    async fn verdict(&mut self) -> Result<StoreVerdict, sqlx::Error> {
        let unverifiable = |why: &str| Ok(StoreVerdict::Unverifiable { why: why.to_owned() });
        let left = match self.found().await? {
            Some((_, true)) => return Ok(StoreVerdict::failed("the life is open")),
            Some((owner, false)) => {
                self.see_points(&owner).await?;
                self.left(&self.of_owner(), &owner).await?
            }
            None => match registry::look(&mut self.connection, self.tables, self.life).await? {
                Registered::Gone => self.left("life = $1::text::uuid", &self.life.to_string()).await?,
                Registered::Yes => return unverifiable(STILL_REGISTERED),
                Registered::Unknown => return unverifiable(NOT_THERE),
            },
        };
        Ok(if left == 0 { StoreVerdict::LogicalOnly } else { StoreVerdict::failed("points are left") })
    }

    /// Counts points twice: as the server likes, and by a scan of the whole table, which believes no index.
    async fn left(&mut self, condition: &str, whose: &str) -> Result<i64, sqlx::Error> {
        let sql = format!("select count(*) from {} where {condition}", self.tables.points);
        let mut left = 0_i64;
        for setting in ["on", "off"] {
            let indexes = format!(
                "set enable_indexscan = {setting}; set enable_indexonlyscan = {setting}; set enable_bitmapscan = {setting}"
            );
            sqlx::raw_sql(AssertSqlSafe(indexes)).execute(&mut self.connection).await?;
            let count = sqlx::query_scalar(AssertSqlSafe(sql.as_str())).bind(whose);
            left = left.max(count.fetch_one(&mut self.connection).await?);
        }
        Ok(left)
    }
}

fn is_foreign_key(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.code().as_deref() == Some(FOREIGN_KEY))
}

const NOT_THERE: &str =
    "nothing was dropped, or the registry of tenants has let the life go, and this role may not look there";
const STILL_REGISTERED: &str =
    "the life never wrote under its row key, and the registry of tenants has it still: erase it there";
/// How often somebody may put a point in between the last portion and the closing.
const TRIES: u32 = 100;
