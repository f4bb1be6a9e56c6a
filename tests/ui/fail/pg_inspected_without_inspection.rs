//! The constructor that does not inspect makes no inspected database.

use tenancy_core::Realm;
use tenancy_pg::{Database, PgOptions};

type State = tenancy_pg::Inspected;

async fn connect(realm: &Realm, options: PgOptions) -> bool {
    Database::<State>::connect(realm, options).await.is_ok()
}

fn main() {
    let _ = connect;
}
