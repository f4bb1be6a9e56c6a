//! There are no reports without a grant.

use tenancy_core::CrossTenantGrant;
use tenancy_pg::{Database, Inspected, PgError};

async fn read(database: &Database<Inspected>, grant: &CrossTenantGrant) -> Result<(), PgError> {
    let _ = grant;
    database.across().await.map(drop)
}

fn main() {
    let _ = read;
}
