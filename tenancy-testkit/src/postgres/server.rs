//! A Postgres server that exists for a test.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use sqlx::Connection;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use super::database::TestDatabase;
use super::replica::ThrowawayReplica;
use super::{APP, CONTROL, OWNER, SUPERUSER, programs};
use crate::keeper::{self, Keeper, ServerUser, free_port};

/// A real server of its own, gone with this value.
///
/// It listens on a socket in a directory that only its owner can enter, keeps nothing safe (`fsync` is off) and knows
/// four roles: a superuser, the owner [`OWNER`], the service's [`APP`] and the control store's [`CONTROL`]; none of the
/// last three is more than a plain login.
///
/// The server runs under a small shell that waits for this process: whether this value is dropped, the test panics, or
/// the process is killed, the shell sees its input close, stops the server it started and removes the directory.
///
/// Which server: the programs in the folder that `TENANCY_POSTGRES_BIN` names, else the newest that Debian's packages
/// installed, else what the path finds.
pub struct ThrowawayPostgres {
    // In this order: the server ends before its directory goes.
    _keeper: Keeper,
    root: TempDir,
    port: u16,
    databases: AtomicU32,
}

/// How a [`ThrowawayPostgres`] differs from the usual one.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    loopback: bool,
    pgvector: bool,
    settings: Vec<(String, String)>,
}

impl ServerOptions {
    /// The usual server.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Listens on a free port of 127.0.0.1 too. Whoever is on this machine can then enter as anybody: for measurements,
    /// and for what can't use a socket.
    #[must_use]
    pub fn loopback(mut self) -> Self {
        self.loopback = true;
        self
    }

    /// A server with pgvector: the programs in the folder that `TENANCY_PGVECTOR_BIN` names, else the usual ones.
    #[must_use]
    pub const fn pgvector(mut self) -> Self {
        self.pgvector = true;
        self
    }

    /// A setting of the server, in place of the usual value.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    fn arguments(&self, root: &Path, port: u16) -> Vec<String> {
        let data = root.join(DATA).display().to_string();
        let root = root.display();
        let mut arguments = vec!["-D".to_owned(), data, "-p".to_owned(), port.to_string()];
        let listen = if self.loopback { "listen_addresses=127.0.0.1" } else { "listen_addresses=" };
        let own = [listen.to_owned(), format!("unix_socket_directories={root}")].into_iter();
        let usual = USUAL.iter().map(|setting| (*setting).to_owned());
        let asked = self.settings.iter().map(|(name, value)| format!("{name}={value}"));
        for setting in own.chain(usual).chain(asked) {
            arguments.extend(["-c".to_owned(), setting]);
        }
        arguments
    }
}

impl ThrowawayPostgres {
    /// Starts a server.
    ///
    /// # Errors
    /// [`PostgresUnavailable`], which says what to type when no server is installed.
    pub async fn start() -> Result<Self, PostgresUnavailable> {
        Self::start_with(&ServerOptions::new()).await
    }

    /// Starts a server that differs from the usual one.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn start_with(options: &ServerOptions) -> Result<Self, PostgresUnavailable> {
        let host = Host::prepare_with(options)?;
        host.run("initdb", &["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--username", SUPERUSER])?;
        let server = Self::serve(host, options).await?;
        server.create_roles().await?;
        Ok(server)
    }

    /// Starts a server on what is in the directory already.
    pub(super) async fn serve(host: Host, options: &ServerOptions) -> Result<Self, PostgresUnavailable> {
        let Host { programs, user, root } = host;
        let port = if options.loopback { free_port()? } else { PORT };
        let arguments = options.arguments(root.path(), port);
        // INT is Postgres's fast shutdown: it doesn't wait for clients.
        let keeper = Keeper::start(user, root.path(), "INT", &programs.join("postgres"), &arguments)?;
        let server = Self { _keeper: keeper, root, port, databases: AtomicU32::new(0) };
        server.wait_until_ready().await?;
        Ok(server)
    }

    /// A standby that follows this server; see [`ThrowawayReplica`].
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn replica(&self) -> Result<ThrowawayReplica, PostgresUnavailable> {
        ThrowawayReplica::start(self).await
    }

    /// The server that all tests of this process share; each takes a [`fresh_database`](Self::fresh_database).
    ///
    /// # Panics
    /// When it can't be started.
    pub async fn shared() -> &'static Self {
        static SHARED: OnceCell<ThrowawayPostgres> = OnceCell::const_new();
        SHARED.get_or_init(|| async { Self::start().await.unwrap_or_else(|e| panic!("{e}")) }).await
    }

    /// As [`shared`](Self::shared), with pgvector; each test creates the extension in its database.
    ///
    /// # Panics
    /// When it can't be started, or has no pgvector.
    pub async fn shared_with_pgvector() -> &'static Self {
        static SHARED: OnceCell<ThrowawayPostgres> = OnceCell::const_new();
        let start = async || {
            let server = Self::start_with(&ServerOptions::new().pgvector()).await.unwrap_or_else(|e| panic!("{e}"));
            let offered = "select count(*) from pg_available_extensions where name = 'vector'";
            match server.postgres().value::<i64>(offered).await {
                Ok(1..) => server,
                _none => panic!(
                    "no pgvector: name the folder of such a server in TENANCY_PGVECTOR_BIN, or type: cargo xtask test"
                ),
            }
        };
        SHARED.get_or_init(start).await
    }

    /// A new database that belongs to [`OWNER`].
    ///
    /// # Panics
    /// When it can't be made.
    pub async fn fresh_database(&self) -> TestDatabase {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        // Copying files is less work for the server than logging every page, which nobody reads here.
        self.postgres().run(&format!("create database {name} owner {OWNER} strategy file_copy")).await;
        self.database(&name)
    }

    /// A database that is there already.
    #[must_use]
    pub fn database(&self, name: &str) -> TestDatabase {
        TestDatabase::on_socket(self.root.path(), self.port, name)
    }

    /// The superuser, in the database `postgres`.
    #[must_use]
    pub fn superuser_options(&self) -> PgConnectOptions {
        self.postgres().superuser_options()
    }

    /// The process of the server, as its own file says; `None` once it is gone.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        let file = std::fs::read_to_string(self.root.path().join(DATA).join("postmaster.pid")).ok()?;
        file.lines().next()?.trim().parse().ok()
    }

    /// The directory of the socket and the log, with the data below.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.root.path()
    }

    pub(super) fn postgres(&self) -> TestDatabase {
        self.database("postgres")
    }

    async fn wait_until_ready(&self) -> Result<(), PostgresUnavailable> {
        let deadline = Instant::now() + START_PATIENCE;
        let options = self.superuser_options();
        loop {
            match PgConnection::connect_with(&options).await {
                Ok(connection) => return connection.close().await.map_err(|_| self.failed("answering")),
                Err(_) if Instant::now() < deadline => tokio::time::sleep(Duration::from_millis(20)).await,
                Err(_) => return Err(self.failed("answering")),
            }
        }
    }

    async fn create_roles(&self) -> Result<(), PostgresUnavailable> {
        let plain = "login nosuperuser nobypassrls nocreaterole nocreatedb noreplication";
        let roles = [OWNER, APP, CONTROL].map(|role| format!("create role {role} {plain}")).join("; ");
        self.postgres().try_run(&roles).await.map_err(|_| self.failed("creating roles"))
    }

    fn failed(&self, step: &'static str) -> PostgresUnavailable {
        PostgresUnavailable::Failed { step, log: keeper::log(self.root.path()) }
    }
}

impl fmt::Debug for ThrowawayPostgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThrowawayPostgres({})", self.root.path().display())
    }
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresUnavailable {
    /// No server's programs were found.
    #[error(
        "no Postgres server is installed, or TENANCY_POSTGRES_BIN names a folder without initdb and postgres; \
         type: apt-get install -y postgresql"
    )]
    NotInstalled,
    /// Something of the system failed.
    #[error("the server could not be set up: {0}")]
    System(#[from] io::Error),
    /// The server did not come up.
    #[error("the server failed at {step}:\n{log}")]
    Failed {
        /// What it was doing.
        step: &'static str,
        /// What it said.
        log: String,
    },
}

/// An empty directory, who works in it, and with which programs.
pub(super) struct Host {
    programs: PathBuf,
    user: ServerUser,
    root: TempDir,
}

impl Host {
    pub(super) fn prepare() -> Result<Self, PostgresUnavailable> {
        Self::prepare_with(&ServerOptions::new())
    }

    fn prepare_with(options: &ServerOptions) -> Result<Self, PostgresUnavailable> {
        let programs = if options.pgvector { programs::with_pgvector() } else { programs::postgres() };
        let programs = programs.ok_or(PostgresUnavailable::NotInstalled)?;
        let user = ServerUser::choose()?;
        Ok(Self { programs, user, root: user.private_directory("tenancy-pg-")? })
    }

    /// Runs one of the programs that make the data.
    pub(super) fn run(&self, program: &'static str, arguments: &[&str]) -> Result<(), PostgresUnavailable> {
        let mut command = self.user.command(&self.programs.join(program));
        let output =
            command.args(arguments).arg("--pgdata").arg(self.root.path().join(DATA)).stdin(Stdio::null()).output()?;
        if output.status.success() {
            return Ok(());
        }
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(PostgresUnavailable::Failed { step: program, log })
    }
}

/// Apart from the socket: a standby copies what is here.
const DATA: &str = "data";
const PORT: u16 = 5432;
const START_PATIENCE: Duration = Duration::from_secs(20);
/// Nothing is compiled: the queries of tests are over before that pays. The log is kept: a standby that was not sent the
/// end of a file in time asks for all of it.
const USUAL: &[&str] = &[
    "fsync=off",
    "full_page_writes=off",
    "synchronous_commit=off",
    "jit=off",
    "max_connections=100",
    "shared_buffers=32MB",
    "wal_keep_size=256MB",
];
