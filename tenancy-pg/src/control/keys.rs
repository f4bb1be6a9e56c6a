//! Wrapped keys on Postgres.

use async_trait::async_trait;
use sqlx::postgres::{PgConnection, PgPool};
use sqlx::types::Json;
use tenancy_core::{KeySlot, KeyStore, KeyStoreError, WrappedKey};

use super::tx::ControlTx;

/// Wrapped keys in the schema `tenancy_control`. A destroyed life leaves a tombstone, which is never removed.
///
/// Inserting and destroying take turns per owner, so a late writer either finds the tombstone or is found by the
/// destruction.
#[derive(Clone)]
pub struct PgKeyStore {
    pool: PgPool,
}

impl PgKeyStore {
    pub(super) const fn new(pool: PgPool) -> Self {
        Self { pool }
    }

    async fn put(&self, slot: KeySlot<'_>, key: WrappedKey) -> Result<Found, sqlx::Error> {
        let mut tx = ControlTx::begin(&self.pool).await?;
        take_turn(tx.connection()?, slot).await?;
        let mut found = look(tx.connection()?, slot).await?;
        if let Found { key: None, destroyed: false } = found {
            let sql = "insert into tenancy_control.key (realm, owner, usage, wrap) values ($1, $2, $3, $4)";
            sqlx::query(sql)
                .bind(slot.realm().as_str())
                .bind(owner(slot))
                .bind(slot.usage())
                .bind(Json(&key))
                .execute(tx.connection()?)
                .await?;
            found.key = Some(key);
        }
        tx.commit().await?;
        Ok(found)
    }

    async fn remove(&self, slot: KeySlot<'_>) -> Result<u64, sqlx::Error> {
        let mut tx = ControlTx::begin(&self.pool).await?;
        take_turn(tx.connection()?, slot).await?;
        let tombstone = "insert into tenancy_control.tombstone (realm, owner) values ($1, $2) on conflict do nothing";
        sqlx::query(tombstone).bind(slot.realm().as_str()).bind(owner(slot)).execute(tx.connection()?).await?;
        let delete = "delete from tenancy_control.key where realm = $1 and owner = $2";
        let deleted =
            sqlx::query(delete).bind(slot.realm().as_str()).bind(owner(slot)).execute(tx.connection()?).await?;
        tx.commit().await?;
        Ok(deleted.rows_affected())
    }
}

#[async_trait]
impl KeyStore for PgKeyStore {
    async fn load(&self, slot: KeySlot<'_>) -> Result<Option<WrappedKey>, KeyStoreError> {
        let mut connection = self.pool.acquire().await.map_err(KeyStoreError::unavailable)?;
        look(&mut connection, slot).await.map_err(KeyStoreError::unavailable)?.usable()
    }

    async fn insert(&self, slot: KeySlot<'_>, key: WrappedKey) -> Result<WrappedKey, KeyStoreError> {
        let found = self.put(slot, key).await.map_err(KeyStoreError::unavailable)?.usable()?;
        found.ok_or_else(|| KeyStoreError::unavailable(sqlx::Error::RowNotFound))
    }

    async fn destroy(&self, slot: KeySlot<'_>) -> Result<u64, KeyStoreError> {
        if slot.life().is_none() {
            return Ok(0);
        }
        self.remove(slot).await.map_err(KeyStoreError::unavailable)
    }
}

/// What a slot holds.
struct Found {
    key: Option<WrappedKey>,
    destroyed: bool,
}

impl Found {
    fn usable(self) -> Result<Option<WrappedKey>, KeyStoreError> {
        if self.destroyed { Err(KeyStoreError::Destroyed) } else { Ok(self.key) }
    }
}

async fn look(connection: &mut PgConnection, slot: KeySlot<'_>) -> Result<Found, sqlx::Error> {
    let (wrap, destroyed): (Option<Json<WrappedKey>>, bool) = sqlx::query_as(LOOK)
        .bind(slot.realm().as_str())
        .bind(owner(slot))
        .bind(slot.usage())
        .fetch_one(connection)
        .await?;
    Ok(Found { key: wrap.map(|Json(key)| key), destroyed })
}

/// Held to the end of the transaction.
async fn take_turn(connection: &mut PgConnection, slot: KeySlot<'_>) -> Result<(), sqlx::Error> {
    sqlx::query("select pg_advisory_xact_lock(hashtextextended($1 || ' ' || $2, 0))")
        .bind(slot.realm().as_str())
        .bind(owner(slot))
        .execute(connection)
        .await
        .map(drop)
}

fn owner(slot: KeySlot<'_>) -> String {
    slot.life().map_or_else(|| "realm".to_owned(), |life| life.uuid().simple().to_string())
}

const LOOK: &str = "
select (select wrap from tenancy_control.key where realm = $1 and owner = $2 and usage = $3),
       exists (select from tenancy_control.tombstone where realm = $1 and owner = $2)";
