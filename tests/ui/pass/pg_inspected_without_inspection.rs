//! The twin of `fail/pg_inspected_without_inspection.rs`: one line differs.

use tenancy_core::Realm;
use tenancy_pg::{Database, PgOptions};

type State = tenancy_pg::Uninspected;

async fn connect(realm: &Realm, options: PgOptions) -> bool {
    Database::<State>::connect(realm, options).await.is_ok()
}

fn main() {
    let _ = connect;
}
