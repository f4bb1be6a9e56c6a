//! Erasure of a life's rows.

mod drain;
mod rows;
mod schema;
mod verdict;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use tenancy_core::{EraseError, Eraser, ErasureScope, Life, Realm, StoreName, StoreVerdict};

pub use schema::erasure_sql;

use crate::control::ControlTx;
use crate::database::STORE;
use crate::declaration::Declaration;
use crate::error::PgError;
use crate::options::quiet;

/// Erases a life from the declared tenant tables and the job queue, on a login role of its own.
///
/// ```text
/// fence the registry -> wait until nothing older is open -> delete in batches -> delete the registry's row -> look
/// ```
///
/// What it relies on is the foreign key of every tenant table to the registry: the server does not let the registry's
/// row go while a row of the life is left anywhere, whatever row level security shows, and no late writer can add one
/// after that. A table without such a key makes the verdict [`Unverifiable`](StoreVerdict::Unverifiable).
///
/// Rows are deleted children first, in transactions of a bounded number of rows, under row level security for exactly
/// that row key: the role can't delete another tenant's. A table that refers to itself is emptied in one statement. Jobs
/// go with the registry's row. Audit records stay: they hold no content, and they are what shows the erasure.
///
/// # The verdict
/// Deleted rows are out of reach at once, and their bytes stay in the files until those are written anew:
/// [`LogicalOnly`](StoreVerdict::LogicalOnly) until the owner has run `VACUUM FULL` on every tenant table (with no older
/// transaction open), [`Verified`](StoreVerdict::Verified) after. Neither speaks of write-ahead logs, backups or
/// replicas; for those, seal what must be beyond recovery, and destroy the key.
pub struct PgEraser {
    pool: PgPool,
    declaration: Declaration,
    horizon: Duration,
    patience: Duration,
    batch: i64,
}

/// How far an erasure has come, as the database remembers it.
#[derive(Clone, sqlx::FromRow)]
struct Run {
    row_key: String,
    removed: bool,
    drained: bool,
}

impl PgEraser {
    /// Connects, with up to 2 connections, and looks at what the role may do. Dropped before it answers: nothing is
    /// left behind.
    ///
    /// # Errors
    /// [`PgError::ControlRole`] for a role that may not read and delete in every declared tenant table, or that may
    /// write there, is a superuser, goes past row level security, or can become an owner. [`PgError`] when it can't
    /// connect.
    pub async fn connect(realm: &Realm, options: PgConnectOptions, declaration: &Declaration) -> Result<Self, PgError> {
        let pool = PgPoolOptions::new().max_connections(2).connect_with(quiet(options)).await?;
        let (schemas, tables) = names(declaration);
        let plain: Option<bool> =
            sqlx::query_scalar(schema::IS_ERASER).bind(schemas).bind(tables).fetch_one(&pool).await?;
        if plain != Some(true) {
            return Err(PgError::ControlRole);
        }
        let horizon = realm.fence_horizon();
        Ok(Self { pool, declaration: declaration.clone(), horizon, patience: Duration::from_secs(60), batch: 1000 })
    }

    /// How long to wait for older transactions to end before giving up until the next call. Default a minute.
    #[must_use]
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How many rows a transaction deletes at most. Default 1000; at least 1.
    #[must_use]
    pub fn batch(mut self, rows: u32) -> Self {
        self.batch = i64::from(rows.max(1));
        self
    }

    async fn run(&self, life: Life) -> Result<(), PgError> {
        let run = self.fence(life).await?;
        if run.removed {
            return Ok(());
        }
        let drained = self.drain(life).await?;
        let tables = rows::in_order(&self.pool, &self.declaration).await?;
        for last_try in [false, false, true] {
            for table in &tables {
                rows::delete(&self.pool, table, &run.row_key, self.batch).await.map_err(left)?;
            }
            match self.remove(life, drained).await {
                // A writer that was there first has put something in between.
                Err(PgError::Database(error)) if error.sqlstate() == Some(FOREIGN_KEY) && !last_try => {}
                ended => return ended.map_err(left),
            }
        }
        Ok(())
    }

    /// Fences the registry and begins the record of the erasure, or finds it. The time of the fence is taken after the
    /// fence is committed: whatever saw the life as living began before it.
    async fn fence(&self, life: Life) -> Result<Run, PgError> {
        let begun = sqlx::query(schema::BEGIN).bind(life.uuid()).execute(&self.pool).await?;
        let _how_many = begun.rows_affected();
        sqlx::query(schema::FENCED).bind(life.uuid()).execute(&self.pool).await?;
        self.found(life).await?.ok_or(PgError::NotRegistered)
    }

    async fn found(&self, life: Life) -> Result<Option<Run>, PgError> {
        Ok(sqlx::query_as(schema::FOUND).bind(life.uuid()).fetch_optional(&self.pool).await?)
    }

    /// Takes the life out of the registry. An open insert of the life holds a lock on its row there: waits for it, not
    /// for ever.
    async fn remove(&self, life: Life, drained: bool) -> Result<(), PgError> {
        let (schemas, tables) = names(&self.declaration);
        let mut tx = ControlTx::begin(&self.pool).await?;
        sqlx::query("set local lock_timeout = '5s'").execute(tx.connection()?).await?;
        sqlx::query(schema::REMOVE).bind(life.uuid()).execute(tx.connection()?).await?;
        let noted = sqlx::query(schema::REMOVED).bind(life.uuid()).bind(drained).bind(schemas).bind(tables);
        noted.execute(tx.connection()?).await?;
        Ok(tx.commit().await?)
    }
}

#[async_trait]
impl Eraser for PgEraser {
    fn store(&self) -> StoreName {
        STORE
    }

    async fn erase(&self, scope: ErasureScope<'_>) -> Result<(), EraseError> {
        self.run(scope.life()).await.map_err(EraseError::told)
    }

    async fn verify(&self, scope: ErasureScope<'_>) -> Result<StoreVerdict, EraseError> {
        verdict::of(self, scope.life()).await.map_err(EraseError::told)
    }
}

/// What refers to what was to go is a row that was not deleted.
fn left(error: PgError) -> PgError {
    match error {
        PgError::Database(error) if error.sqlstate() == Some(FOREIGN_KEY) => PgError::RowsLeft,
        error => error,
    }
}

/// Schemas and tables of the declared tenant tables, side by side.
fn names(declaration: &Declaration) -> (Vec<&str>, Vec<&str>) {
    declaration.tenant_tables().iter().map(|table| (table.schema(), table.table())).unzip()
}

impl fmt::Debug for PgEraser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgEraser").field("patience", &self.patience).field("batch", &self.batch).finish_non_exhaustive()
    }
}

const FOREIGN_KEY: &str = "23503";
