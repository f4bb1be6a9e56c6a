//! The twin of `fail/pg_across_with_a_context.rs`: one line differs.

use tenancy_core::{CrossTenantGrant, TenantContext};
use tenancy_pg::{Database, Inspected, PgError};

async fn read(database: &Database<Inspected>, mine: &TenantContext, grant: &CrossTenantGrant) -> Result<(), PgError> {
    let _ = (mine, grant);
    database.across(grant).await.map(drop)
}

fn main() {
    let _ = read;
}
