//! A tenant's context opens no reports.

use tenancy_core::{CrossTenantGrant, TenantContext};
use tenancy_pg::{Database, Inspected, PgError};

async fn read(database: &Database<Inspected>, mine: &TenantContext, grant: &CrossTenantGrant) -> Result<(), PgError> {
    let _ = (mine, grant);
    database.across(mine).await.map(drop)
}

fn main() {
    let _ = read;
}
