//! A replica is not read through a pool that somebody else holds.

use sqlx::postgres::{PgConnectOptions, PgPool};
use tenancy_pg::PgOptions;

fn with_replica(options: PgOptions, pool: PgPool, connect: PgConnectOptions) -> PgOptions {
    let _ = (&pool, &connect);
    options.replica(pool)
}

fn main() {
    let _ = with_replica;
}
