//! PgBouncer in front of a server.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::Connection;
use sqlx::postgres::PgConnection;
use tempfile::TempDir;

use super::SUPERUSER;
use super::database::TestDatabase;
use crate::keeper::{self, Keeper, ServerUser, free_port};

/// A real PgBouncer of its own, gone with this value, in front of the server of one [`TestDatabase`].
///
/// It lives like a [`ThrowawayPostgres`](super::ThrowawayPostgres): a private directory with its socket, an ordinary
/// user where the test runs as root, an end with this process. Every role of the server can enter, without a password,
/// as at the server itself.
///
/// `extra_float_digits` is the one startup parameter it swallows, as most installations have it, for the drivers that
/// always send it. Any other that PgBouncer does not track is refused (`08P01`).
pub struct ThrowawayPgBouncer {
    // In this order: the pooler ends before its directory goes.
    _keeper: Keeper,
    root: TempDir,
    database: TestDatabase,
}

/// When PgBouncer gives a server connection back to its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolMode {
    /// When the client leaves.
    Session,
    /// When the transaction ends.
    Transaction,
    /// After each statement; transactions are refused.
    Statement,
}

/// How a [`ThrowawayPgBouncer`] pools.
#[derive(Clone, Debug)]
pub struct PgBouncerOptions {
    mode: PoolMode,
    pool_size: u32,
    loopback: bool,
    settings: Vec<(String, String)>,
}

impl PgBouncerOptions {
    /// Pools like this, with at most four server connections for a role and a database.
    #[must_use]
    pub fn new(mode: PoolMode) -> Self {
        Self { mode, pool_size: 4, loopback: false, settings: Vec::new() }
    }

    /// Server connections for a role and a database, at most.
    #[must_use]
    pub fn pool_size(mut self, connections: u32) -> Self {
        self.pool_size = connections;
        self
    }

    /// Listens on a free port of 127.0.0.1 instead of a socket.
    #[must_use]
    pub fn loopback(mut self) -> Self {
        self.loopback = true;
        self
    }

    /// A line of the section `[pgbouncer]`, in place of the usual value: `("ignore_startup_parameters", "options")`.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    fn file(&self, database: &TestDatabase, root: &Path, port: u16) -> String {
        let (root, mode, pool_size) = (root.display(), self.mode.name(), self.pool_size);
        let server = match database.socket() {
            Some(socket) => socket.parent().unwrap_or(Path::new("/")).display().to_string(),
            None => "127.0.0.1".to_owned(),
        };
        let listen = if self.loopback {
            format!("listen_addr = 127.0.0.1\nunix_socket_dir =\nlisten_port = {port}")
        } else {
            format!("unix_socket_dir = {root}\nlisten_port = {port}")
        };
        let asked: String = self.settings.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
        // The query finds every role; the last line of a name is the one that counts.
        format!(
            "[databases]\n* = host={server} port={} auth_user={SUPERUSER}\n\n[pgbouncer]\n{listen}\n\
             auth_type = trust\nauth_file = {root}/users\n\
             auth_query = select usename, passwd from pg_catalog.pg_shadow where usename = $1\n\
             pool_mode = {mode}\ndefault_pool_size = {pool_size}\nmax_client_conn = 200\n\
             ignore_startup_parameters = extra_float_digits\nadmin_users = {SUPERUSER}\n{asked}",
            database.port()
        )
    }
}

impl PoolMode {
    fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Transaction => "transaction",
            Self::Statement => "statement",
        }
    }
}

impl ThrowawayPgBouncer {
    /// Starts a pooler in front of the server of this database.
    ///
    /// # Errors
    /// [`PgBouncerUnavailable`], which says what to type when PgBouncer is not installed.
    pub async fn start(database: &TestDatabase, options: &PgBouncerOptions) -> Result<Self, PgBouncerUnavailable> {
        let program = keeper::program("pgbouncer").ok_or(PgBouncerUnavailable::NotInstalled)?;
        let user = ServerUser::choose()?;
        let root = user.private_directory("tenancy-pgbouncer-")?;
        let port = if options.loopback { free_port()? } else { PORT };
        let database_here =
            if options.loopback { database.through_port(port) } else { database.through_socket(root.path(), port) };
        let file = root.path().join("pgbouncer.ini");
        user.write(&file, &options.file(database, root.path(), port))?;
        user.write(&root.path().join("users"), &format!("\"{SUPERUSER}\" \"\"\n"))?;
        // TERM is PgBouncer's immediate end: INT would wait for clients.
        let keeper = Keeper::start(user, root.path(), "TERM", &program, &[file.display().to_string()])?;
        let pooler = Self { _keeper: keeper, root, database: database_here };
        pooler.wait_until_ready().await?;
        Ok(pooler)
    }

    /// The database that it was started for, through the pooler.
    #[must_use]
    pub fn database(&self) -> &TestDatabase {
        &self.database
    }

    /// PgBouncer's own console (`show pools`, `pause`, `reconnect`), for the superuser; simple statements only.
    #[must_use]
    pub fn console_options(&self) -> sqlx::postgres::PgConnectOptions {
        self.database.superuser_options().database("pgbouncer")
    }

    async fn wait_until_ready(&self) -> Result<(), PgBouncerUnavailable> {
        let deadline = Instant::now() + START_PATIENCE;
        loop {
            match PgConnection::connect_with(&self.database.superuser_options()).await {
                Ok(connection) => {
                    let _gone = connection.close().await;
                    return Ok(());
                }
                Err(_) if Instant::now() < deadline => tokio::time::sleep(Duration::from_millis(20)).await,
                Err(_) => return Err(PgBouncerUnavailable::Failed { log: keeper::log(self.root.path()) }),
            }
        }
    }
}

impl fmt::Debug for ThrowawayPgBouncer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThrowawayPgBouncer({})", self.root.path().display())
    }
}

/// Why there is no pooler.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PgBouncerUnavailable {
    /// The program was not found.
    #[error("PgBouncer is not installed; type: apt-get install -y pgbouncer")]
    NotInstalled,
    /// Something of the system failed.
    #[error("PgBouncer could not be set up: {0}")]
    System(#[from] io::Error),
    /// It did not come up.
    #[error("PgBouncer did not answer:\n{log}")]
    Failed {
        /// What it said.
        log: String,
    },
}

/// As the server's: the directory tells the sockets apart.
const PORT: u16 = 5432;
const START_PATIENCE: Duration = Duration::from_secs(10);
