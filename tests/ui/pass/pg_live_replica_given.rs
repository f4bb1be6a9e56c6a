//! The twin of `fail/pg_live_replica_given.rs`: one line differs.

use sqlx::postgres::{PgConnectOptions, PgPool};
use tenancy_pg::PgOptions;

fn with_replica(options: PgOptions, pool: PgPool, connect: PgConnectOptions) -> PgOptions {
    let _ = (&pool, &connect);
    options.replica(connect)
}

fn main() {
    let _ = with_replica;
}
