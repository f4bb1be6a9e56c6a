//! A Postgres server that exists for a test.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use tempfile::TempDir;
use tokio::sync::OnceCell;

/// A real server of its own, gone with this value.
///
/// It listens on a socket in a directory that only its owner can enter, keeps nothing safe (`fsync` is off) and knows
/// four roles: a superuser, the owner [`OWNER`], the service's [`APP`] and the control store's [`CONTROL`]; none of the
/// last three is more than a plain login.
///
/// The server runs under a small shell that waits for this process: whether this value is dropped, the test panics, or
/// the process is killed, the shell sees its input close, stops the server it started and removes the directory.
pub struct ThrowawayPostgres {
    root: TempDir,
    keeper: Keeper,
    databases: AtomicU32,
}

/// One database of a [`ThrowawayPostgres`].
#[derive(Clone)]
pub struct TestDatabase {
    socket: PathBuf,
    name: String,
}

impl ThrowawayPostgres {
    /// Starts a server.
    ///
    /// # Errors
    /// [`PostgresUnavailable`], which says what to type when no server is installed.
    pub async fn start() -> Result<Self, PostgresUnavailable> {
        let binaries = find_binaries().ok_or(PostgresUnavailable::NotInstalled)?;
        let user = ServerUser::choose()?;
        let root = private_directory(user)?;
        initialise(&binaries, root.path(), user)?;
        let keeper = Keeper::start(&binaries, root.path(), user)?;
        let server = Self { root, keeper, databases: AtomicU32::new(0) };
        server.wait_until_ready().await?;
        server.create_roles().await?;
        Ok(server)
    }

    /// The server that all tests of this process share; each takes a [`fresh_database`](Self::fresh_database).
    ///
    /// # Panics
    /// When it can't be started.
    pub async fn shared() -> &'static Self {
        static SHARED: OnceCell<ThrowawayPostgres> = OnceCell::const_new();
        SHARED.get_or_init(|| async { Self::start().await.unwrap_or_else(|e| panic!("{e}")) }).await
    }

    /// A new database that belongs to [`OWNER`].
    ///
    /// # Panics
    /// When it can't be made.
    pub async fn fresh_database(&self) -> TestDatabase {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.postgres().run(&format!("create database {name} owner {OWNER}")).await;
        TestDatabase { socket: self.root.path().to_owned(), name }
    }

    /// The superuser, in the database `postgres`.
    #[must_use]
    pub fn superuser_options(&self) -> PgConnectOptions {
        self.postgres().superuser_options()
    }

    /// The process of the server, as its own file says; `None` once it is gone.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        let file = std::fs::read_to_string(self.root.path().join("postmaster.pid")).ok()?;
        file.lines().next()?.trim().parse().ok()
    }

    /// The directory of the data and of the socket.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.root.path()
    }

    fn postgres(&self) -> TestDatabase {
        TestDatabase { socket: self.root.path().to_owned(), name: "postgres".to_owned() }
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
        let log = std::fs::read_to_string(self.root.path().join(LOG)).unwrap_or_default();
        PostgresUnavailable::Failed { step, log }
    }
}

impl Drop for ThrowawayPostgres {
    fn drop(&mut self) {
        self.keeper.stop();
    }
}

impl fmt::Debug for ThrowawayPostgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThrowawayPostgres({})", self.root.path().display())
    }
}

impl TestDatabase {
    /// The database's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The superuser here.
    #[must_use]
    pub fn superuser_options(&self) -> PgConnectOptions {
        self.options(SUPERUSER)
    }

    /// The owner of the schema: for migrations.
    #[must_use]
    pub fn owner_options(&self) -> PgConnectOptions {
        self.options(OWNER)
    }

    /// The service.
    #[must_use]
    pub fn app_options(&self) -> PgConnectOptions {
        self.options(APP)
    }

    /// The control store.
    #[must_use]
    pub fn control_options(&self) -> PgConnectOptions {
        self.options(CONTROL)
    }

    /// Any role here.
    #[must_use]
    pub fn options(&self, role: &str) -> PgConnectOptions {
        PgConnectOptions::new_without_pgpass()
            .socket(&self.socket)
            .port(PORT)
            .username(role)
            .database(&self.name)
            .disable_statement_logging()
    }

    /// The URL of a role here, for a program of its own.
    #[must_use]
    pub fn url(&self, role: &str) -> String {
        format!("postgres://{role}@localhost:{PORT}/{}?host={}", self.name, self.socket.display())
    }

    /// Runs statements as the superuser.
    ///
    /// # Panics
    /// When one fails.
    pub async fn run(&self, sql: &str) {
        self.try_run(sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    }

    /// Runs statements as the owner.
    ///
    /// # Panics
    /// When one fails.
    pub async fn run_as_owner(&self, sql: &str) {
        run(&self.owner_options(), sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    }

    async fn try_run(&self, sql: &str) -> Result<(), sqlx::Error> {
        run(&self.superuser_options(), sql).await
    }
}

impl fmt::Debug for TestDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TestDatabase({})", self.name)
    }
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresUnavailable {
    /// No server binaries were found.
    #[error("no Postgres server is installed; type: apt-get install -y postgresql")]
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

async fn run(options: &PgConnectOptions, sql: &str) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect_with(options).await?;
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
    connection.close().await
}

/// `initdb` refuses to run as root, so root lends the server an ordinary user.
#[derive(Clone, Copy)]
struct ServerUser(Option<(u32, u32)>);

impl ServerUser {
    fn choose() -> io::Result<Self> {
        if effective_uid()? != 0 {
            return Ok(Self(None));
        }
        let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let ids = |name: &str| {
            accounts.lines().find_map(|line| {
                let mut fields = line.split(':');
                (fields.next()? == name).then_some(())?;
                Some((fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?))
            })
        };
        Ok(Self(Some(ids("postgres").or_else(|| ids("nobody")).unwrap_or((NOBODY, NOBODY)))))
    }

    fn command(self, program: &Path) -> Command {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new(program);
        if let Self(Some((uid, gid))) = self {
            command.uid(uid).gid(gid);
        }
        // A group of its own: Ctrl-C is for the test, whose end the server then notices.
        command.process_group(0).current_dir("/").env_remove("PGOPTIONS").env("LC_ALL", "C");
        command
    }
}

/// The owner of a new file is who we are.
fn effective_uid() -> io::Result<u32> {
    use std::os::unix::fs::MetadataExt;
    Ok(tempfile::tempfile()?.metadata()?.uid())
}

fn private_directory(user: ServerUser) -> io::Result<TempDir> {
    let base = std::env::temp_dir();
    // A socket's whole path has about a hundred bytes at most.
    let base = if base.as_os_str().len() < 60 { base } else { PathBuf::from("/tmp") };
    let root = tempfile::Builder::new().prefix("tenancy-pg-").tempdir_in(base)?;
    if let ServerUser(Some((uid, gid))) = user {
        std::os::unix::fs::chown(root.path(), Some(uid), Some(gid))?;
    }
    Ok(root)
}

fn initialise(binaries: &Path, root: &Path, user: ServerUser) -> Result<(), PostgresUnavailable> {
    let output = user
        .command(&binaries.join("initdb"))
        .args(["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--username", SUPERUSER, "--pgdata"])
        .arg(root)
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(PostgresUnavailable::Failed { step: "initdb", log: String::from_utf8_lossy(&output.stderr).into_owned() })
}

/// The shell that keeps the server, and whose input is our life line.
struct Keeper(Child);

impl Keeper {
    fn start(binaries: &Path, root: &Path, user: ServerUser) -> io::Result<Self> {
        let child = user
            .command(Path::new("/bin/sh"))
            .args(["-c", KEEPER, "keeper"])
            .arg(binaries.join("postgres"))
            .arg(root)
            .arg(PORT.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self(child))
    }

    fn stop(&mut self) {
        drop(self.0.stdin.take());
        let _reaped = self.0.wait();
    }
}

/// Newest first below Debian's directory, else what the path finds.
fn find_binaries() -> Option<PathBuf> {
    let complete = |dir: &PathBuf| dir.join("initdb").is_file() && dir.join("postgres").is_file();
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin")))
        })
        .collect();
    versions.sort_unstable_by_key(|(version, _)| std::cmp::Reverse(*version));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named = std::env::var_os("TENANCY_POSTGRES_BIN").map(PathBuf::from);
    let versions = versions.into_iter().map(|(_, dir)| dir);
    named.into_iter().chain(versions).chain(std::env::split_paths(&path)).find(complete)
}

/// The owner of the schema.
pub const OWNER: &str = "own";
/// The service.
pub const APP: &str = "app";
/// The control store.
pub const CONTROL: &str = "control";

const SUPERUSER: &str = "postgres";
const PORT: u16 = 5432;
const NOBODY: u32 = 65534;
const LOG: &str = "server.log";
const START_PATIENCE: Duration = Duration::from_secs(20);

/// Starts the server, waits for the end of its input, stops the server (fast, then hard) and removes the directory.
const KEEPER: &str = r#"
"$1" -D "$2" -p "$3" -c listen_addresses= -c unix_socket_directories="$2" -c fsync=off -c full_page_writes=off \
    -c synchronous_commit=off -c max_connections=100 -c shared_buffers=32MB </dev/null >"$2/server.log" 2>&1 &
server=$!
cat >/dev/null
kill -INT $server 2>/dev/null
tries=0
while kill -0 $server 2>/dev/null && [ $tries -lt 50 ]; do tries=$((tries + 1)); sleep 0.1; done
kill -KILL $server 2>/dev/null
wait $server 2>/dev/null
rm -rf "$2"
"#;
