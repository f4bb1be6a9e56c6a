//! A database is not made of a pool that somebody else holds.

use tenancy_core::Realm;
use tenancy_pg::{Database, PgOptions};

async fn connect(realm: &Realm, pool: sqlx::PgPool, options: PgOptions) -> bool {
    let _ = (&pool, &options);
    Database::connect(realm, pool).await.is_ok()
}

fn main() {
    let _ = connect;
}
