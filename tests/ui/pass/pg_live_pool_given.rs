//! The twin of `fail/pg_live_pool_given.rs`: one line differs.

use tenancy_core::Realm;
use tenancy_pg::{Database, PgOptions};

async fn connect(realm: &Realm, pool: sqlx::PgPool, options: PgOptions) -> bool {
    let _ = (&pool, &options);
    Database::connect(realm, options).await.is_ok()
}

fn main() {
    let _ = connect;
}
