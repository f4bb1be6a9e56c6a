//! One database, as any role sees it.

use std::fmt;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Decode, Postgres, Row, Type};

use super::{APP, CONTROL, OWNER, SUPERUSER};
use crate::proxy::{FaultProxy, Protocol, Upstream};

/// One database of a server, and the way to it: the server's own socket, or whatever stands in front.
#[derive(Clone)]
pub struct TestDatabase {
    host: Host,
    port: u16,
    name: String,
}

/// Where somebody listens.
#[derive(Clone)]
enum Host {
    /// In this folder.
    Socket(PathBuf),
    /// On 127.0.0.1.
    Loopback,
}

impl TestDatabase {
    pub(super) fn on_socket(folder: impl Into<PathBuf>, port: u16, name: impl Into<String>) -> Self {
        Self { host: Host::Socket(folder.into()), port, name: name.into() }
    }

    /// The same database through a socket in `folder`.
    pub(super) fn through_socket(&self, folder: impl Into<PathBuf>, port: u16) -> Self {
        Self::on_socket(folder, port, self.name.clone())
    }

    /// The same database by way of a port of 127.0.0.1: that of something in front of it, or the server's own where it
    /// was started with [`ServerOptions::loopback`](super::ServerOptions::loopback).
    #[must_use]
    pub fn through_port(&self, port: u16) -> Self {
        Self { host: Host::Loopback, port, name: self.name.clone() }
    }

    /// A proxy in front of whatever this database is reached through, and the database through it.
    ///
    /// # Panics
    /// When the proxy can't be started.
    pub async fn behind_a_proxy(&self) -> (FaultProxy, Self) {
        let upstream = match self.socket() {
            Some(socket) => Upstream::Unix(socket),
            None => Upstream::Tcp((Ipv4Addr::LOCALHOST, self.port).into()),
        };
        let proxy = FaultProxy::start(upstream, Protocol::Postgres).await.unwrap_or_else(|e| panic!("a proxy: {e}"));
        let database = self.through_port(proxy.port());
        (proxy, database)
    }

    /// The database's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The port; that of a socket is a part of the socket's name.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The file of the socket; `None` on loopback.
    #[must_use]
    pub fn socket(&self) -> Option<PathBuf> {
        match &self.host {
            Host::Socket(folder) => Some(folder.join(format!(".s.PGSQL.{}", self.port))),
            Host::Loopback => None,
        }
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
        let options = PgConnectOptions::new_without_pgpass()
            .port(self.port)
            .username(role)
            .database(&self.name)
            .ssl_mode(PgSslMode::Disable)
            .disable_statement_logging();
        match &self.host {
            Host::Socket(folder) => options.socket(folder),
            Host::Loopback => options.host(LOOPBACK),
        }
    }

    /// The URL of a role here, for a program of its own.
    #[must_use]
    pub fn url(&self, role: &str) -> String {
        let Self { host, port, name } = self;
        match host {
            Host::Socket(folder) => format!("postgres://{role}@localhost:{port}/{name}?host={}", folder.display()),
            Host::Loopback => format!("postgres://{role}@{LOOPBACK}:{port}/{name}?sslmode=disable"),
        }
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

    /// The first value of a statement, run as the superuser.
    pub(super) async fn value<T>(&self, sql: &str) -> Result<T, sqlx::Error>
    where
        T: for<'r> Decode<'r, Postgres> + Type<Postgres>,
    {
        let mut connection = PgConnection::connect_with(&self.superuser_options()).await?;
        let row = sqlx::query(AssertSqlSafe(sql)).fetch_one(&mut connection).await?;
        connection.close().await?;
        row.try_get(0)
    }

    pub(super) async fn try_run(&self, sql: &str) -> Result<(), sqlx::Error> {
        run(&self.superuser_options(), sql).await
    }
}

impl fmt::Debug for TestDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TestDatabase({})", self.name)
    }
}

/// Roles are the whole server's. Two tests that change one at the same moment get an internal error from the server
/// instead of waiting for each other, and the statements of one text are one transaction, so they can be run again.
async fn run(options: &PgConnectOptions, sql: &str) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect_with(options).await?;
    let mut left = 20;
    loop {
        match sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await {
            Ok(_done) => return connection.close().await,
            Err(sqlx::Error::Database(e)) if left > 0 && e.message() == "tuple concurrently updated" => left -= 1,
            Err(error) => return Err(error),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

const LOOPBACK: &str = "127.0.0.1";
