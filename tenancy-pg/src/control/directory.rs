//! The tenant directory on Postgres.

use async_trait::async_trait;
use sqlx::postgres::PgPool;
use sqlx::types::Json;
use tenancy_core::{
    ApiKeyLookup, ApiKeyRecord, DirectoryConflict, DirectoryError, Lookup, LookupBy, Standing, TenantDirectory,
    TenantId, TenantRecord,
};

use super::record::{Row, standing_word};
use crate::error::PgError;
use crate::redact::DatabaseError;

/// Tenants and API keys in the schema `tenancy_control`.
///
/// What must not happen is forbidden by the schema, so it holds across processes: two living tenants of one name in any
/// case, one `(issuer, claim)` for two of them, and a life or row key that was ever used before.
#[derive(Clone)]
pub struct PgDirectory {
    pool: PgPool,
}

impl PgDirectory {
    pub(super) const fn new(pool: PgPool) -> Self {
        Self { pool }
    }

    /// Adds a tenant. Dropped before it answers, it may have been added.
    ///
    /// # Errors
    /// [`PgError::Conflict`] as [`StaticDirectory::add`](tenancy_core::StaticDirectory::add); [`PgError`] when the store
    /// did not answer.
    pub async fn add(&self, record: &TenantRecord) -> Result<(), PgError> {
        let row = Row::of(record)?;
        let living = record.standing() != Standing::Erased;
        sqlx::query(ADD)
            .bind(row.life)
            .bind(row.name)
            .bind(row.born)
            .bind(row.row_key_type)
            .bind(row.row_key)
            .bind(row.standing)
            .bind(row.details)
            .bind(row.issuers)
            .bind(row.claims)
            .bind(living)
            .execute(&self.pool)
            .await
            .map_err(conflict)?;
        Ok(())
    }

    /// Suspends a living tenant. Dropped before it answers, it may have happened.
    ///
    /// # Errors
    /// [`PgError::Conflict`] when there is none of that name; [`PgError`] when the store did not answer.
    pub async fn suspend(&self, tenant: &TenantId) -> Result<(), PgError> {
        self.set_standing(tenant, Standing::Suspended).await
    }

    /// Serves a suspended tenant again. An erased one stays erased.
    ///
    /// # Errors
    /// As [`suspend`](Self::suspend).
    pub async fn resume(&self, tenant: &TenantId) -> Result<(), PgError> {
        self.set_standing(tenant, Standing::Active).await
    }

    /// Marks a tenant as erased, for ever. Its name and claims are free again; its life and row key are not.
    ///
    /// # Errors
    /// As [`suspend`](Self::suspend).
    pub async fn erase(&self, tenant: &TenantId) -> Result<(), PgError> {
        self.set_standing(tenant, Standing::Erased).await
    }

    /// Renames a living tenant; its life, and with it all its data, goes on.
    ///
    /// # Errors
    /// As [`suspend`](Self::suspend), and when the new name is taken.
    pub async fn rename(&self, tenant: &TenantId, to: &TenantId) -> Result<(), PgError> {
        let changed = sqlx::query(RENAME).bind(tenant.as_str()).bind(to.as_str()).execute(&self.pool).await;
        found(changed.map_err(conflict)?.rows_affected())
    }

    /// Adds or replaces the stored form of an API key. A revoked key stays revoked. Dropped before it
    /// answers, it may have happened.
    ///
    /// # Errors
    /// [`PgError`] when the store did not answer.
    pub async fn put_api_key(&self, record: &ApiKeyRecord) -> Result<(), PgError> {
        sqlx::query(PUT_API_KEY).bind(record.id().as_str()).bind(Json(record)).execute(&self.pool).await?;
        Ok(())
    }

    async fn set_standing(&self, tenant: &TenantId, standing: Standing) -> Result<(), PgError> {
        let word = standing_word(standing)?;
        let changed: i64 =
            sqlx::query_scalar(SET_STANDING).bind(tenant.as_str()).bind(word).fetch_one(&self.pool).await?;
        found(changed.unsigned_abs())
    }

    async fn row(&self, lookup: Lookup<'_>) -> Result<Option<Row>, sqlx::Error> {
        match lookup.by() {
            LookupBy::Claim { issuer, claim } => {
                sqlx::query_as(BY_CLAIM).bind(issuer).bind(claim).fetch_optional(&self.pool).await
            }
            LookupBy::Life(life) => sqlx::query_as(BY_LIFE).bind(life.uuid()).fetch_optional(&self.pool).await,
            LookupBy::Id(id) => sqlx::query_as(BY_NAME).bind(id.as_str()).fetch_optional(&self.pool).await,
            _unknown => Ok(None),
        }
    }
}

#[async_trait]
impl TenantDirectory for PgDirectory {
    async fn find(&self, lookup: Lookup<'_>) -> Result<Option<TenantRecord>, DirectoryError> {
        let row = self.row(lookup).await.map_err(DirectoryError::new)?;
        row.map(Row::into_record).transpose().map_err(DirectoryError::new)
    }

    async fn api_key(&self, lookup: ApiKeyLookup<'_>) -> Result<Option<ApiKeyRecord>, DirectoryError> {
        let found: Option<Json<ApiKeyRecord>> = sqlx::query_scalar(API_KEY)
            .bind(lookup.id().as_str())
            .fetch_optional(&self.pool)
            .await
            .map_err(DirectoryError::new)?;
        Ok(found.map(|Json(record)| record))
    }
}

fn found(changed: u64) -> Result<(), PgError> {
    if changed == 0 { Err(DirectoryConflict::Unknown.into()) } else { Ok(()) }
}

/// The name of the violated constraint says what was taken.
fn conflict(error: sqlx::Error) -> PgError {
    match error.as_database_error().and_then(|e| e.constraint()) {
        Some("tenant_pkey") => DirectoryConflict::Life.into(),
        Some("tenant_row_key_type_row_key_key") => DirectoryConflict::RowKey.into(),
        Some("tenant_living_name") => DirectoryConflict::Name.into(),
        Some("claim_living" | "claim_pkey") => DirectoryConflict::Claim.into(),
        _other => match error {
            sqlx::Error::Database(e) => PgError::Database(DatabaseError::of(&*e)),
            other => other.into(),
        },
    }
}

/// One statement, so one transaction.
const ADD: &str = "
with tenant as (
    insert into tenancy_control.tenant (life, name, born, row_key_type, row_key, standing, details)
    values ($1, $2, $3, $4, $5, $6, $7) returning life
)
insert into tenancy_control.claim (life, issuer, value, living)
select tenant.life, c.issuer, c.value, $10 from tenant, unnest($8::text[], $9::text[]) as c(issuer, value)";

const SET_STANDING: &str = "
with tenant as (
    update tenancy_control.tenant set standing = $2 where name = $1 and standing <> 'erased' returning life, standing
), claims as (
    update tenancy_control.claim c set living = false from tenant where c.life = tenant.life and tenant.standing = 'erased'
)
select count(pg_catalog.pg_notify('tenancy_directory', life::text)::text) from tenant";

const RENAME: &str = "update tenancy_control.tenant set name = $2 where name = $1 and standing <> 'erased'";

const PUT_API_KEY: &str = "
insert into tenancy_control.api_key (id, record) values ($1, $2)
on conflict (id) do update set record =
    excluded.record || case when (api_key.record->>'revoked')::boolean then '{\"revoked\": true}' else '{}' end::jsonb";

const API_KEY: &str = "select record from tenancy_control.api_key where id = $1";

macro_rules! tenant_by {
    ($condition:literal) => {
        concat!(
            "select t.life, t.name, t.born, t.row_key_type, t.row_key, t.standing, t.details, \
             array(select c.issuer from tenancy_control.claim c where c.life = t.life order by c.issuer, c.value) as issuers, \
             array(select c.value from tenancy_control.claim c where c.life = t.life order by c.issuer, c.value) as claims \
             from tenancy_control.tenant t where ",
            $condition,
            // The living one first: an erased one may share its name and claims.
            " order by t.standing = 'erased', t.born desc limit 1"
        )
    };
}

const BY_LIFE: &str = tenant_by!("t.life = $1");
const BY_NAME: &str = tenant_by!("t.name = $1");
const BY_CLAIM: &str =
    tenant_by!("t.life in (select c.life from tenancy_control.claim c where c.issuer = $1 and c.value = $2)");
