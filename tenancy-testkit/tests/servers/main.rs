//! The throwaway servers: they are what they say, and they leave nothing behind.
#![expect(clippy::unwrap_used, reason = "tests")]

mod bouncer;
mod proxy;
mod replica;
mod server;

use std::path::Path;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection, Row};

/// A connection, or why there is none.
async fn connect(options: &PgConnectOptions) -> PgConnection {
    PgConnection::connect_with(options).await.unwrap()
}

/// The one value of a statement, as text.
async fn text(connection: &mut PgConnection, sql: &str) -> String {
    let rows = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(connection).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    rows[0].try_get_unchecked(0).unwrap()
}

/// How many processes name this directory in their command line; a zombie has none.
fn processes_of(directory: &Path) -> usize {
    let name = directory.to_str().unwrap();
    let names_it = |process: &std::fs::DirEntry| {
        let command_line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command_line).contains(name)
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter(names_it).count()
}
