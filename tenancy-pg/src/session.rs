//! One connection, and what it is known by as one session on the server.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use sqlx::error::DatabaseError;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Connection, Row};
use uuid::Uuid;

use crate::error::PgError;
use crate::seeds::Seeds;

/// A connection with what every session starts with.
pub(crate) struct Session {
    pub(crate) connection: PgConnection,
    pub(crate) identity: Identity,
    pub(crate) born: Instant,
}

/// The backend, and a word that no other connection has sent. Both are asked for again at each closing, so that a pooler
/// in between, which nobody declared, is found out when it gives the backend to somebody else.
pub(crate) struct Identity {
    pub(crate) backend: i32,
    pub(crate) word: String,
}

impl Session {
    /// Connects.
    ///
    /// # Errors
    /// A [`PgError::PoolerMismatch`] inside where the connection is not what was declared, or why there is none.
    pub(crate) async fn connect(options: &PgConnectOptions, seeds: &Seeds) -> Result<Self, sqlx::Error> {
        let word = Uuid::new_v4().simple().to_string();
        let options = seeds.at_startup(options.clone(), &word);
        let mut connection = PgConnection::connect_with(&options).await.map_err(|error| seeds.refusal(error))?;
        let mut identity = Identity { backend: 0, word };
        if seeds.keeps_sessions() {
            let sql = format!("{}select {IDENTITY}", seeds.after_connecting(&identity.word));
            let rows = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(&mut connection).await?;
            let row = rows.last().ok_or(sqlx::Error::WorkerCrashed)?;
            identity.backend = row.try_get(0)?;
            if !identity.is(row, 0) {
                return Err(PgError::PoolerMismatch.into());
            }
        }
        Ok(Self { connection, identity, born: Instant::now() })
    }
}

impl Identity {
    /// Whether the columns of [`IDENTITY`], from this one on, show this session.
    pub(crate) fn is(&self, row: &PgRow, column: usize) -> bool {
        let (backend, word): (Result<i32, _>, Result<&str, _>) = (row.try_get(column), row.try_get(column + 1));
        matches!((backend, word), (Ok(backend), Ok(word)) if backend == self.backend && word == self.word)
    }
}

/// Says who it is.
pub(crate) const IDENTITY: &str =
    "pg_catalog.pg_backend_pid(), coalesce(pg_catalog.current_setting('tenancy.connection', true), '')";

/// The backends of all connections of a pool. Two connections can't have the same.
#[derive(Clone, Default)]
pub(crate) struct Backends(Arc<Mutex<HashSet<i32>>>);

/// A backend's place among them, until it is dropped.
pub(crate) struct Registered {
    backend: i32,
    all: Backends,
}

impl Backends {
    /// # Errors
    /// A [`PgError::PoolerMismatch`] inside, when another connection has it.
    pub(crate) fn register(&self, backend: i32) -> Result<Registered, sqlx::Error> {
        let new = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(backend);
        if new { Ok(Registered { backend, all: self.clone() }) } else { Err(PgError::PoolerMismatch.into()) }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.backend);
    }
}

/// What PgBouncer says to a startup parameter that it does not know.
pub(crate) fn refuses_the_start(error: &dyn DatabaseError) -> bool {
    error.code().as_deref() == Some("08P01")
}
