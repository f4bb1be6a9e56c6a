//! How to reach the database: configuration only, never a live pool.

use std::fmt;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use tenancy_core::Region;

/// Where the database is and how many connections to keep.
///
/// Hooks on connections can't be given: one that changes the role or the setting would run behind the inspection's
/// back.
#[derive(Clone)]
#[must_use]
pub struct PgOptions {
    connect: PgConnectOptions,
    region: Option<Region>,
    max_connections: u32,
    acquire_timeout: Duration,
    idle_timeout: Duration,
    max_lifetime: Duration,
    statement_timeout: Duration,
}

impl PgOptions {
    /// Up to 10 connections, 10 s to wait for one, 30 s for a statement, in the realm's own region.
    pub fn new(connect: PgConnectOptions) -> Self {
        Self {
            connect,
            region: None,
            max_connections: 10,
            acquire_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(600),
            max_lifetime: Duration::from_secs(1800),
            statement_timeout: Duration::from_secs(30),
        }
    }

    /// The region the database lies in: tenants placed elsewhere are refused.
    pub fn region(mut self, region: Region) -> Self {
        self.region = Some(region);
        self
    }

    /// The most connections at a time.
    pub const fn max_connections(mut self, most: u32) -> Self {
        self.max_connections = most;
        self
    }

    /// How long to wait for a connection. A context's deadline may cut it short.
    pub const fn acquire_timeout(mut self, timeout: Duration) -> Self {
        self.acquire_timeout = timeout;
        self
    }

    /// After how long an idle connection is closed.
    pub const fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// After how long any connection is closed.
    pub const fn max_lifetime(mut self, lifetime: Duration) -> Self {
        self.max_lifetime = lifetime;
        self
    }

    /// The longest a statement may run on the server. A context's deadline may cut it short, so that a statement whose
    /// caller is gone does not run on for long.
    pub const fn statement_timeout(mut self, timeout: Duration) -> Self {
        self.statement_timeout = timeout;
        self
    }

    pub(crate) const fn region_of(&self) -> Option<&Region> {
        self.region.as_ref()
    }

    pub(crate) const fn statement_patience(&self) -> Duration {
        self.statement_timeout
    }

    pub(crate) const fn most_connections(&self) -> u32 {
        self.max_connections
    }

    /// A pool that has not connected yet. No ping before use: the opening batch shows whether a connection is alive.
    pub(crate) fn pool(&self, setting: &str) -> PgPool {
        PgPoolOptions::new()
            .test_before_acquire(false)
            .max_connections(self.max_connections)
            .acquire_timeout(self.acquire_timeout)
            .idle_timeout(self.idle_timeout)
            .max_lifetime(self.max_lifetime)
            .connect_lazy_with(self.connect_options(setting))
    }

    /// The setting starts out empty, on every connection and whatever a role or database default says, and that is also
    /// what `reset all` brings back.
    pub(crate) fn connect_options(&self, setting: &str) -> PgConnectOptions {
        quiet(self.connect.clone()).options([(setting, "")])
    }
}

/// Statements, slow ones included, and notices of the server are not logged: they quote row keys and data.
pub(crate) fn quiet(options: PgConnectOptions) -> PgConnectOptions {
    options.disable_statement_logging().options([("client_min_messages", "error")])
}

impl fmt::Debug for PgOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgOptions")
            .field("region", &self.region)
            .field("max_connections", &self.max_connections)
            .finish_non_exhaustive()
    }
}
