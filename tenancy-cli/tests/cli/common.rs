//! A database, and the program in a folder of its own.

use std::process::{Command, Output};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection};
use tempfile::TempDir;
use tenancy_testkit::{APP, TestDatabase, ThrowawayPostgres};

pub(crate) struct World {
    pub(crate) database: TestDatabase,
    pub(crate) folder: TempDir,
}

/// What the program did.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl World {
    /// The owner's tables, in a database of their own.
    pub(crate) async fn new(sql: &str) -> Self {
        Self::on(ThrowawayPostgres::shared().await, sql).await
    }

    /// On a server of the test's own, for what changes roles that the tests of the shared one look at.
    pub(crate) async fn on(server: &ThrowawayPostgres, sql: &str) -> Self {
        let database = server.fresh_database().await;
        database.run("revoke create on schema public from public").await;
        database.run_as_owner(sql).await;
        Self { database, folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    /// Runs the program as the service's role.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with_url(&self.database.url(APP), arguments)
    }

    pub(crate) fn run_with_url(&self, url: &str, arguments: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenancy"));
        command.args(arguments).current_dir(self.folder.path()).env("DATABASE_URL", url);
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: status.code().unwrap(), out: text(stdout), err: text(stderr) }
    }
}

/// The texts that a query gives.
pub(crate) async fn texts(options: &PgConnectOptions, sql: &str) -> Vec<String> {
    let mut connection = PgConnection::connect_with(options).await.unwrap();
    let texts = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    texts
}
