//! The twin of `fail/pg_uninspected_across.rs`: one line differs.

use tenancy_core::CrossTenantGrant;
use tenancy_pg::{Database, PgError};

type State = tenancy_pg::Inspected;

async fn read(database: &Database<State>, grant: &CrossTenantGrant) -> Result<(), PgError> {
    database.across(grant).await.map(drop)
}

fn main() {
    let _ = read;
}
