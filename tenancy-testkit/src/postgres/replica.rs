//! A standby that follows a server, and can be held back.

use std::fmt;
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnectOptions;

use super::SUPERUSER;
use super::database::TestDatabase;
use super::server::{Host, PostgresUnavailable, ServerOptions, ThrowawayPostgres};

/// A real standby of a [`ThrowawayPostgres`], gone with this value: read-only, with all of the server's databases, and
/// as far behind as replication is, unless a test says otherwise.
///
/// `pause_replay` and `resume_replay` are what a test of "read your own writes" needs: between them the standby answers
/// from the past, however fast the machine is.
pub struct ThrowawayReplica {
    server: ThrowawayPostgres,
    primary: TestDatabase,
}

impl ThrowawayReplica {
    pub(super) async fn start(primary: &ThrowawayPostgres) -> Result<Self, PostgresUnavailable> {
        let host = Host::prepare()?;
        let port = primary.postgres().port().to_string();
        let socket = primary.directory().display().to_string();
        let conninfo = ["--host", &socket, "--port", &port, "--username", SUPERUSER, "--write-recovery-conf"];
        host.run("pg_basebackup", &[conninfo.as_slice(), &["--checkpoint=fast", "--no-sync"]].concat())?;
        let options = ServerOptions::new().setting("wal_retrieve_retry_interval", "100ms");
        let server = ThrowawayPostgres::serve(host, &options).await?;
        Ok(Self { server, primary: primary.postgres() })
    }

    /// A database of the primary, as it is here.
    #[must_use]
    pub fn database(&self, database: &TestDatabase) -> TestDatabase {
        self.server.database(database.name())
    }

    /// The superuser, in the database `postgres`.
    #[must_use]
    pub fn superuser_options(&self) -> PgConnectOptions {
        self.server.superuser_options()
    }

    /// Stops following: what the primary commits from now on is not seen here. Returns once that is so.
    ///
    /// # Panics
    /// When it can't be done.
    pub async fn pause_replay(&self) {
        self.server.postgres().run("select pg_wal_replay_pause()").await;
        self.wait_for("select pg_get_wal_replay_pause_state() = 'paused'").await;
    }

    /// Follows again; [`catch_up`](Self::catch_up) waits for it.
    ///
    /// # Panics
    /// When it can't be done.
    pub async fn resume_replay(&self) {
        self.server.postgres().run("select pg_wal_replay_resume()").await;
    }

    /// Waits until everything that the primary has committed up to now is seen here.
    ///
    /// # Panics
    /// After ten seconds: is the replay paused?
    pub async fn catch_up(&self) {
        // A record of our own: the position of the next one, which the primary could tell, may never be reached. In a
        // transaction: nobody is in a hurry to write a record out that belongs to none.
        let record = "select pg_logical_emit_message(true, 'throwaway', '')::text";
        let position: String = self.primary.value(record).await.unwrap_or_else(|e| panic!("the primary: {e}"));
        self.wait_for(&format!("select pg_last_wal_replay_lsn() >= '{position}'")).await;
    }

    /// Makes it a primary of its own, on a new timeline.
    ///
    /// # Panics
    /// When it can't be done.
    pub async fn promote(&self) {
        self.wait_for("select pg_promote()").await;
    }

    async fn wait_for(&self, condition: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let here: Result<bool, _> = self.server.postgres().value(condition).await;
            if here.unwrap_or_else(|e| panic!("{condition}: {e}")) {
                return;
            }
            assert!(Instant::now() < deadline, "not so after {PATIENCE:?}: {condition}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl fmt::Debug for ThrowawayReplica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThrowawayReplica({})", self.server.directory().display())
    }
}

const PATIENCE: Duration = Duration::from_secs(10);
