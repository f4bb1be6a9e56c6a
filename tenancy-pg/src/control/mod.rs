//! What a realm needs before there is one: directory, keys, used tickets, corpus versions and audit log, on Postgres.

mod audit;
mod bridge;
mod directory;
mod hints;
mod keys;
mod ledger;
mod record;
mod schema;
mod tx;
mod versions;

use std::fmt;

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};

pub use audit::PgAuditSink;
pub use directory::PgDirectory;
pub use hints::DirectoryHints;
pub use keys::PgKeyStore;
pub use ledger::PgTicketLedger;
pub use schema::{migrate_audit, migrate_control};
pub(crate) use tx::ControlTx;
pub use versions::PgCorpusVersions;

use crate::error::PgError;
use crate::options::quiet;

/// The control stores of a realm, on a login role of their own. It has no method that reaches a tenant's data.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use std::path::Path;
///
/// use tenancy_core::*;
/// use tenancy_pg::ControlStore;
///
/// let control = ControlStore::connect("postgres://control@db.internal/rag".parse()?).await?;
/// let root = RootKey::from_file(Path::new("/etc/rag/root.key"))?; // the same at every start: it wraps the stored keys
/// let realm = Realm::builder(RealmName::parse("prod")?)
///     .directory(control.directory())
///     .issuers([TenantIssuer::new("https://login.example", "rag", Jwks::file("keys.json")?)])
///     .no_operators()
///     .keys(LocalKeyProvider::new(root), control.keys())
///     .audit(JsonlSink::open("audit.jsonl")?)
///     .ticket_ledger(control.ledger())
///     .corpus_versions(control.versions())
///     .build()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ControlStore {
    pool: PgPool,
}

impl ControlStore {
    /// Connects, with up to 4 connections. Dropped before it answers: nothing is left behind.
    ///
    /// # Errors
    /// [`PgError::ControlRole`] for a superuser or a role with BYPASSRLS: the control role may do what
    /// [`migrate_control`] granted it and nothing else. [`PgError`] when it can't connect.
    pub async fn connect(options: PgConnectOptions) -> Result<Self, PgError> {
        let pool = PgPoolOptions::new().max_connections(4).connect_with(quiet(options)).await?;
        let sql = "select bool_or(rolsuper or rolbypassrls) from pg_catalog.pg_roles \
                   where rolname in (session_user, current_user)";
        let too_much: Option<bool> = sqlx::query_scalar(sql).fetch_one(&pool).await?;
        if too_much == Some(false) { Ok(Self { pool }) } else { Err(PgError::ControlRole) }
    }

    /// The tenant directory, API keys included.
    #[must_use]
    pub fn directory(&self) -> PgDirectory {
        PgDirectory::new(self.pool.clone())
    }

    /// Wrapped keys. Mind that their backups must not be those of the data.
    #[must_use]
    pub fn keys(&self) -> PgKeyStore {
        PgKeyStore::new(self.pool.clone())
    }

    /// Used job tickets.
    #[must_use]
    pub fn ledger(&self) -> PgTicketLedger {
        PgTicketLedger::new(self.pool.clone())
    }

    /// Corpus versions.
    #[must_use]
    pub fn versions(&self) -> PgCorpusVersions {
        PgCorpusVersions::new(self.pool.clone())
    }

    /// Makes the realm's fences look again when this or another process has suspended, resumed or erased a tenant. Takes
    /// one of the connections. Dropped before it answers: nothing is left behind.
    ///
    /// # Errors
    /// [`PgError`] when it can't connect. Once it has, a lost connection is had again, and nothing hangs on it.
    pub async fn hints(&self, realm: &tenancy_core::Realm) -> Result<DirectoryHints, PgError> {
        hints::forward(&self.pool, realm).await
    }

    /// Closes the connections. Idempotent. Dropped before it answers: none is given any more; call it again to wait.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

impl fmt::Debug for ControlStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ControlStore")
    }
}

macro_rules! opaque_debug {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    )*};
}

opaque_debug!(PgAuditSink, PgDirectory, PgKeyStore, PgTicketLedger, PgCorpusVersions);
