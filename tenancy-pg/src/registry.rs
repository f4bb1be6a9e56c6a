//! The registry of tenants in the data's own database, `tenancy.tenant`.

use std::fmt;

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use tenancy_core::{DirectoryConflict, Life, RowKey, TenantRecord};

use crate::declaration::RowKeyType;
use crate::error::PgError;
use crate::options::quiet;

macro_rules! register {
    ($cast:literal) => {
        concat!("insert into tenancy.tenant (row_key, life) values ($1::text::", $cast, ", $2) on conflict do nothing")
    };
}

/// Which tenants the data's database serves: the target of the tenant tables' foreign keys, and in signed mode the fence
/// that the server itself looks at.
///
/// On the role of the control stores, never on the service's: whoever can lift a fence is not held by it. The table is
/// made by the generated migration where the declaration wants a [registry](crate::DeclarationBuilder::registry), and by
/// [`signed_schema_sql`](crate::signed_schema_sql) in signed mode. Rows leave it by [`PgEraser`](crate::PgEraser) alone.
///
/// Enter a tenant here before it is added to the directory: until then its first insert fails.
#[derive(Clone)]
pub struct TenantRegistry {
    pool: PgPool,
}

impl TenantRegistry {
    /// Connects, with up to 2 connections. Dropped before it answers: nothing is left behind.
    ///
    /// # Errors
    /// [`PgError::ControlRole`] for a superuser or a role with BYPASSRLS; [`PgError`] when it can't connect.
    pub async fn connect(options: PgConnectOptions) -> Result<Self, PgError> {
        let pool = PgPoolOptions::new().max_connections(2).connect_with(quiet(options)).await?;
        let too_much: Option<bool> = sqlx::query_scalar(TOO_MUCH).fetch_one(&pool).await?;
        if too_much == Some(false) { Ok(Self { pool }) } else { Err(PgError::ControlRole) }
    }

    /// Enters a tenant in its present life. Idempotent. Dropped before it answers, it may have been entered.
    ///
    /// # Errors
    /// [`PgError::Conflict`] when its life or its row key is another tenant's here, or was; [`PgError`] when the
    /// database did not answer.
    pub async fn register(&self, record: &TenantRecord) -> Result<(), PgError> {
        let (key, row_key) = row_key_text(record.row_key())?;
        let sql = match key {
            RowKeyType::Uuid => register!("uuid"),
            RowKeyType::BigInt => register!("bigint"),
            RowKeyType::Text => register!("text"),
        };
        let life = record.life().uuid();
        sqlx::query(sql).bind(&row_key).bind(life).execute(&self.pool).await?;
        let same = "select row_key::text = $1 from tenancy.tenant where life = $2";
        match sqlx::query_scalar(same).bind(&row_key).bind(life).fetch_optional(&self.pool).await? {
            Some(true) => Ok(()),
            Some(false) => Err(DirectoryConflict::Life.into()),
            None => Err(DirectoryConflict::RowKey.into()),
        }
    }

    /// Fences a life: in signed mode the server shows it nothing from the next statement on that has a fresh snapshot.
    /// Idempotent. Dropped before it answers, it may have been fenced.
    ///
    /// # Errors
    /// [`PgError::Conflict`] when the registry does not have it; [`PgError`] when the database did not answer.
    pub async fn fence(&self, life: Life) -> Result<(), PgError> {
        self.set_live(life, false).await
    }

    /// Lifts the fence of a life that was suspended. The directory has refused before to resume one that is erased.
    ///
    /// # Errors
    /// As [`fence`](Self::fence).
    pub async fn lift(&self, life: Life) -> Result<(), PgError> {
        self.set_live(life, true).await
    }

    async fn set_live(&self, life: Life, live: bool) -> Result<(), PgError> {
        let sql = "update tenancy.tenant set live = $2 where life = $1";
        let changed = sqlx::query(sql).bind(life.uuid()).bind(live).execute(&self.pool).await?;
        if changed.rows_affected() == 0 { Err(DirectoryConflict::Unknown.into()) } else { Ok(()) }
    }

    /// Closes the connections. Idempotent. Dropped before it answers: none is given any more; call it again to wait.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

impl fmt::Debug for TenantRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TenantRegistry")
    }
}

/// A row key's type, and its text as the server prints the type.
pub(crate) fn row_key_text(key: &RowKey) -> Result<(RowKeyType, String), PgError> {
    match key {
        RowKey::Uuid(id) => Ok((RowKeyType::Uuid, id.hyphenated().to_string())),
        RowKey::BigInt(number) => Ok((RowKeyType::BigInt, number.to_string())),
        RowKey::Text(text) => Ok((RowKeyType::Text, text.as_str().to_owned())),
        _unknown => Err(PgError::RowKeyType),
    }
}

const TOO_MUCH: &str = "
select bool_or(rolsuper or rolbypassrls) from pg_catalog.pg_roles where rolname in (session_user, current_user)";
