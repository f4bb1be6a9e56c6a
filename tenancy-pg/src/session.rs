//! One connection, and what it is known by as one session on the server.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use sqlx::error::DatabaseError;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection, Row};
use uuid::Uuid;

use crate::batch::batch;
use crate::clean;
use crate::error::PgError;
use crate::seeds::Seeds;

/// A connection with what every session starts with.
pub(crate) struct Session {
    pub(crate) connection: PgConnection,
    pub(crate) identity: Identity,
    pub(crate) born: Instant,
}

/// The backend, and a word that no other connection has sent. The word is asked for again at each opening and closing, so
/// that a pooler in between, which nobody declared, is found out when it gives the backend to somebody else.
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
            let (told, who) = (seeds.after_connecting(&identity.word), seeds.who());
            let asking = format!("{told}{who}; select pg_catalog.pg_backend_pid()");
            let answer = batch(&mut connection, &asking).await;
            let rows = answer.map_err(|stopped| seeds.refusal(stopped.error))?;
            let [who, backend] = rows.as_slice() else { return Err(sqlx::Error::WorkerCrashed) };
            identity.backend = backend.try_get(0)?;
            if !clean::shows(who, &identity) {
                return Err(PgError::PoolerMismatch.into());
            }
        }
        Ok(Self { connection, identity, born: Instant::now() })
    }
}

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

/// What PgBouncer says to a startup parameter that it does not know, and what the server says to a session that asks for
/// its word where one was swallowed.
pub(crate) fn refuses_the_start(error: &dyn DatabaseError) -> bool {
    matches!(error.code().as_deref(), Some("08P01" | "42704"))
}
