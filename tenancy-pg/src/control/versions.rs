//! Corpus versions on Postgres.

use async_trait::async_trait;
use sqlx::postgres::{PgConnection, PgPool};
use tenancy_core::{CorpusError, CorpusScope, CorpusVersion, CorpusVersions, WRITE_LEASE, WriteId};

use super::tx::ControlTx;

/// Corpus versions in the schema `tenancy_control`, shared by all processes that share a cache.
#[derive(Clone)]
pub struct PgCorpusVersions {
    pool: PgPool,
}

impl PgCorpusVersions {
    pub(super) const fn new(pool: PgPool) -> Self {
        Self { pool }
    }

    async fn read(&self, scope: &str) -> Result<Option<CorpusVersion>, sqlx::Error> {
        let at_rest: Option<(Vec<u8>, bool)> = sqlx::query_as(AT_HAND).bind(scope).fetch_optional(&self.pool).await?;
        if let Some((version, false)) = at_rest {
            return Ok(version_of(version));
        }
        let mut tx = ControlTx::begin(&self.pool).await?;
        lock(tx.connection()?, scope).await?;
        let lease = WRITE_LEASE.as_secs_f64();
        let crashed = sqlx::query(FORGET_CRASHED).bind(scope).bind(lease).execute(tx.connection()?).await?;
        if crashed.rows_affected() > 0 {
            set(tx.connection()?, scope, CorpusVersion::random()).await?;
        }
        let settled: Option<(Vec<u8>, bool)> =
            sqlx::query_as(AT_HAND).bind(scope).fetch_optional(tx.connection()?).await?;
        tx.commit().await?;
        Ok(match settled {
            Some((version, false)) => version_of(version),
            _being_written => None,
        })
    }

    async fn announce(&self, scope: &str, write: WriteId) -> Result<(), sqlx::Error> {
        let mut tx = ControlTx::begin(&self.pool).await?;
        lock(tx.connection()?, scope).await?;
        let sql = "insert into tenancy_control.corpus_write (scope, id) values ($1, $2) on conflict do nothing";
        sqlx::query(sql).bind(scope).bind(write.as_bytes().as_slice()).execute(tx.connection()?).await?;
        tx.commit().await
    }

    async fn finish(&self, scope: &str, write: WriteId) -> Result<CorpusVersion, sqlx::Error> {
        let version = CorpusVersion::random();
        let mut tx = ControlTx::begin(&self.pool).await?;
        lock(tx.connection()?, scope).await?;
        let sql = "delete from tenancy_control.corpus_write where scope = $1 and id = $2";
        sqlx::query(sql).bind(scope).bind(write.as_bytes().as_slice()).execute(tx.connection()?).await?;
        set(tx.connection()?, scope, version).await?;
        tx.commit().await?;
        Ok(version)
    }
}

#[async_trait]
impl CorpusVersions for PgCorpusVersions {
    async fn current(&self, scope: CorpusScope<'_>) -> Result<Option<CorpusVersion>, CorpusError> {
        self.read(&scope.name()).await.map_err(CorpusError::new)
    }

    async fn begin(&self, scope: CorpusScope<'_>, write: WriteId) -> Result<(), CorpusError> {
        self.announce(&scope.name(), write).await.map_err(CorpusError::new)
    }

    async fn settle(&self, scope: CorpusScope<'_>, write: WriteId) -> Result<CorpusVersion, CorpusError> {
        self.finish(&scope.name(), write).await.map_err(CorpusError::new)
    }
}

/// Makes the scope if it was never seen, and keeps others off it to the end of the transaction.
async fn lock(connection: &mut PgConnection, scope: &str) -> Result<(), sqlx::Error> {
    let fresh = CorpusVersion::random();
    sqlx::query("insert into tenancy_control.corpus (scope, version) values ($1, $2) on conflict do nothing")
        .bind(scope)
        .bind(fresh.as_bytes().as_slice())
        .execute(&mut *connection)
        .await?;
    let sql = "select 1 from tenancy_control.corpus where scope = $1 for update";
    sqlx::query(sql).bind(scope).execute(connection).await.map(drop)
}

async fn set(connection: &mut PgConnection, scope: &str, version: CorpusVersion) -> Result<(), sqlx::Error> {
    let sql = "update tenancy_control.corpus set version = $2 where scope = $1";
    sqlx::query(sql).bind(scope).bind(version.as_bytes().as_slice()).execute(connection).await.map(drop)
}

fn version_of(bytes: Vec<u8>) -> Option<CorpusVersion> {
    bytes.try_into().ok().map(CorpusVersion::from_bytes)
}

/// The version, and whether a write is under way.
const AT_HAND: &str = "
select c.version, exists (select from tenancy_control.corpus_write w where w.scope = c.scope)
from tenancy_control.corpus c where c.scope = $1";

const FORGET_CRASHED: &str = "
delete from tenancy_control.corpus_write
where scope = $1 and began <= clock_timestamp() - make_interval(secs => $2)";
