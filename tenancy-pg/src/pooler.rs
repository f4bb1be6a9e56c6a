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
    /// A pooler that gives each client a session for as long as it is connected (PgBouncer, `pool_mode = session`), and
    /// has room for four of this process while it is verified.
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
/// With nothing in between each connection proves itself by a word of its own in the startup message. A session pooler
/// does not let that through, and that one client's backend stays the same while nobody else asks for it proves nothing.
/// So others are held in transactions meanwhile: a transaction pooler then gives one of them the backend of a client that
/// is idle, or an idle client another backend than before, or makes them wait.
///
/// # Errors
/// [`PgError::PoolerMismatch`], or why there is no connection.
pub(crate) async fn verify(options: &PgOptions, setting: &str) -> Result<(), PgError> {
    verify_one(options, setting).await?;
    match options.of_reports() {
        Some(reports) => verify_one(&reports, setting).await,
        None => Ok(()),
    }
}

async fn verify_one(options: &PgOptions, setting: &str) -> Result<(), PgError> {
    let mut idle = Client::connect(options, setting).await?;
    let found = match options.pooler_of() {
        Pooler::None | Pooler::Transaction => Ok(true),
        Pooler::Session => gives_sessions(&mut idle, options, setting).await,
    };
    let _gone = idle.leave().await;
    if found? { Ok(()) } else { Err(PgError::PoolerMismatch) }
}

async fn gives_sessions(idle: &mut Client, options: &PgOptions, setting: &str) -> Result<bool, PgError> {
    let mut held: Vec<Client> = Vec::new();
    let mut found = idle.is_as_declared().await;
    for _round in 0..ROUNDS {
        if !matches!(found, Ok(true)) {
            break;
        }
        found = match tokio::time::timeout(PATIENCE, Client::hold(options, setting)).await {
            Err(_elapsed) => Ok(false),
            Ok(Err(error)) => Err(error),
            Ok(Ok(client)) => {
                let shared = held.iter().chain([&*idle]).any(|other| other.backend == client.backend);
                held.push(client);
                if shared { Ok(false) } else { idle.is_as_declared().await }
            }
        };
    }
    for client in held {
        let _gone = client.leave().await;
    }
    found
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

    /// Still on its backend.
    async fn is_as_declared(&mut self) -> Result<bool, PgError> {
        let backend: i32 = ask(&mut self.connection, BACKEND).await?.try_get(0)?;
        Ok(backend == self.backend)
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

const BACKEND: &str = "select pg_catalog.pg_backend_pid()";
const HELD: &str = "begin; select pg_catalog.pg_backend_pid()";
/// Clients that are held at the same time. A session pooler must have room for one more.
const ROUNDS: usize = 3;
/// A pooler that has no session left makes a client wait.
const PATIENCE: Duration = Duration::from_secs(2);
