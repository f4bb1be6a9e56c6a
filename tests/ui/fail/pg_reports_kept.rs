//! Reports do not outlive the grant that they were opened with.

use tenancy_core::CrossTenantGrant;
use tenancy_pg::{Database, Inspected, PgError, Reports};

async fn keep(
    database: Database<Inspected>,
    grant: &'static CrossTenantGrant,
    own: CrossTenantGrant,
) -> Result<Reports<'static>, PgError> {
    let _ = (grant, &own);
    database.across(&own).await
}

fn main() {
    let _ = keep;
}
