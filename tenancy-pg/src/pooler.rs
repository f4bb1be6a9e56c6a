//! What stands between this process and the server, and whether it is what was declared.

use std::time::Duration;

use sqlx::Row;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};

use crate::error::PgError;
use crate::options::PgOptions;

/// What stands between this process and the server.
///
/// | | session settings | statements | connection between two tenants |
/// |---|---|---|---|
/// | `None` | in the startup message | named, kept | proven clean, else closed |
/// | `Session` | set after connecting, and again after each cleaning | named, kept | proven clean, else closed |
/// | `Transaction` | set in each transaction | unnamed | the pooler's to give away: cleaned in the batch that commits |
///
/// What is declared is verified when the database is opened and at each re-inspection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pooler {
    /// Nothing: every connection is a session of its own on the server.
    #[default]
    None,
    /// A pooler that gives each client a session for as long as it is connected (PgBouncer, `pool_mode = session`).
    Session,
    /// A pooler that gives a client a session for a transaction at a time (PgBouncer, `pool_mode = transaction`).
    ///
    /// The next transaction on a session may be another program's, so nothing can be proven to it: what this crate's
    /// transactions leave is cleaned away in the batch that ends them. Run [`hardening_sql`](crate::hardening_sql), which
    /// takes away what cleaning can't undo.
    Transaction,
}

impl Pooler {
    /// Whether a connection is one session on the server for as long as it lives.
    pub(crate) const fn keeps_sessions(self) -> bool {
        match self {
            Self::None | Self::Session => true,
            Self::Transaction => false,
        }
    }
}

/// Connects, and looks whether connections are what they were declared to be.
///
/// That one client's backend stays the same while nobody else asks for it proves nothing, so others are held in
/// transactions meanwhile: a transaction pooler then gives one of them the backend of a client that is idle, or an idle
/// client another backend than before.
///
/// # Errors
/// [`PgError::PoolerMismatch`], or why there is no connection.
pub(crate) async fn verify(options: &PgOptions, setting: &str) -> Result<(), PgError> {
    let mut idle = Client::connect(options, setting).await?;
    if !options.pooler_of().keeps_sessions() {
        return idle.leave().await;
    }
    let mut held = Vec::new();
    let mut found = idle.is_as_declared(&options.search_path_sql()).await;
    for _round in 0..ROUNDS {
        if !matches!(found, Ok(true)) {
            break;
        }
        found = match tokio::time::timeout(PATIENCE, Client::hold(options, setting)).await {
            Ok(Ok(client)) => {
                held.push(client);
                let shared = held.iter().enumerate().any(|(n, one)| {
                    one.backend == idle.backend || held.iter().skip(n + 1).any(|other| one.backend == other.backend)
                });
                if shared { Ok(false) } else { idle.is_as_declared(&options.search_path_sql()).await }
            }
            // As many as there may be.
            Err(_elapsed) => break,
            Ok(Err(error)) if error.is_full() => break,
            Ok(Err(error)) => Err(error),
        };
    }
    for client in held {
        let _gone = client.leave().await;
    }
    let _gone = idle.leave().await;
    if found? { Ok(()) } else { Err(PgError::PoolerMismatch) }
}

/// A connection and the backend that it had first.
struct Client {
    connection: PgConnection,
    backend: i32,
}

impl Client {
    async fn connect(options: &PgOptions, setting: &str) -> Result<Self, PgError> {
        let mut connection = options.session(setting).await?;
        let backend = ask(&mut connection, BACKEND).await?.try_get(0)?;
        Ok(Self { connection, backend })
    }

    /// In a transaction, which keeps its backend.
    async fn hold(options: &PgOptions, setting: &str) -> Result<Self, PgError> {
        let mut connection = options.session(setting).await?;
        let backend = ask(&mut connection, HELD).await?.try_get(0)?;
        Ok(Self { connection, backend })
    }

    /// Still on its backend, and with what the startup message or the statements after it have set.
    async fn is_as_declared(&mut self, search_path: &str) -> Result<bool, PgError> {
        let row = ask(&mut self.connection, BACKEND).await?;
        let (backend, path): (i32, String) = (row.try_get(0)?, row.try_get(1)?);
        // The server leaves out quotes that it can do without.
        Ok(backend == self.backend && path.replace('"', "") == search_path.replace('"', ""))
    }

    async fn leave(self) -> Result<(), PgError> {
        Ok(self.connection.close().await?)
    }
}

/// In the simple protocol, which names no statement.
async fn ask(connection: &mut PgConnection, sql: &'static str) -> Result<sqlx::postgres::PgRow, PgError> {
    let rows = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(connection).await?;
    rows.into_iter().next_back().ok_or(PgError::RowNotFound)
}

const BACKEND: &str = "select pg_catalog.pg_backend_pid(), pg_catalog.current_setting('search_path')";
const HELD: &str = "begin; select pg_catalog.pg_backend_pid()";
/// Clients that are held at the same time.
const ROUNDS: usize = 3;
/// A session pooler that has no session left makes a client wait.
const PATIENCE: Duration = Duration::from_secs(2);
