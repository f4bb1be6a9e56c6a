//! The twin of `fail/pg_across_without_a_grant.rs`: one line differs.

use tenancy_core::CrossTenantGrant;
use tenancy_pg::{Database, Inspected, PgError};

async fn read(database: &Database<Inspected>, grant: &CrossTenantGrant) -> Result<(), PgError> {
    let _ = grant;
    database.across(grant).await.map(drop)
}

fn main() {
    let _ = read;
}
