//! Wrapped keys on Postgres.

use async_trait::async_trait;
use sqlx::postgres::{PgConnection, PgPool};
use sqlx::types::Json;
use tenancy_core::{KeySlot, KeyStore, KeyStoreError, WrappedKey};

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
}

#[async_trait]
impl KeyStore for PgKeyStore {
    async fn load(&self, slot: KeySlot<'_>) -> Result<Option<WrappedKey>, KeyStoreError> {
        let mut connection = self.pool.acquire().await.map_err(KeyStoreError::unavailable)?;
        load(&mut connection, slot).await
    }

    async fn insert(&self, slot: KeySlot<'_>, key: WrappedKey) -> Result<WrappedKey, KeyStoreError> {
        let mut tx = self.pool.begin().await.map_err(KeyStoreError::unavailable)?;
        take_turn(&mut tx, slot).await?;
        if let Some(present) = load(&mut tx, slot).await? {
            return Ok(present);
        }
        sqlx::query("insert into tenancy_control.key (realm, owner, usage, wrap) values ($1, $2, $3, $4)")
            .bind(slot.realm().as_str())
            .bind(owner(slot))
            .bind(slot.usage())
            .bind(Json(&key))
            .execute(&mut *tx)
            .await
            .map_err(KeyStoreError::unavailable)?;
        tx.commit().await.map_err(KeyStoreError::unavailable)?;
        Ok(key)
    }

    async fn destroy(&self, slot: KeySlot<'_>) -> Result<u64, KeyStoreError> {
        if slot.life().is_none() {
            return Ok(0);
        }
        let mut tx = self.pool.begin().await.map_err(KeyStoreError::unavailable)?;
        take_turn(&mut tx, slot).await?;
        sqlx::query("insert into tenancy_control.tombstone (realm, owner) values ($1, $2) on conflict do nothing")
            .bind(slot.realm().as_str())
            .bind(owner(slot))
            .execute(&mut *tx)
            .await
            .map_err(KeyStoreError::unavailable)?;
        let deleted = sqlx::query("delete from tenancy_control.key where realm = $1 and owner = $2")
            .bind(slot.realm().as_str())
            .bind(owner(slot))
            .execute(&mut *tx)
            .await
            .map_err(KeyStoreError::unavailable)?;
        tx.commit().await.map_err(KeyStoreError::unavailable)?;
        Ok(deleted.rows_affected())
    }
}

async fn load(connection: &mut PgConnection, slot: KeySlot<'_>) -> Result<Option<WrappedKey>, KeyStoreError> {
    let (wrap, destroyed): (Option<Json<WrappedKey>>, bool) = sqlx::query_as(LOAD)
        .bind(slot.realm().as_str())
        .bind(owner(slot))
        .bind(slot.usage())
        .fetch_one(connection)
        .await
        .map_err(KeyStoreError::unavailable)?;
    if destroyed { Err(KeyStoreError::Destroyed) } else { Ok(wrap.map(|Json(key)| key)) }
}

/// Held to the end of the transaction.
async fn take_turn(connection: &mut PgConnection, slot: KeySlot<'_>) -> Result<(), KeyStoreError> {
    sqlx::query("select pg_advisory_xact_lock(hashtextextended($1 || ' ' || $2, 0))")
        .bind(slot.realm().as_str())
        .bind(owner(slot))
        .execute(connection)
        .await
        .map(drop)
        .map_err(KeyStoreError::unavailable)
}

fn owner(slot: KeySlot<'_>) -> String {
    slot.life().map_or_else(|| "realm".to_owned(), |life| life.uuid().simple().to_string())
}

const LOAD: &str = "
select (select wrap from tenancy_control.key where realm = $1 and owner = $2 and usage = $3),
       exists (select from tenancy_control.tombstone where realm = $1 and owner = $2)";
