//! The twin of `fail/pg_reports_kept.rs`: one line differs.

use tenancy_core::CrossTenantGrant;
use tenancy_pg::{Database, Inspected, PgError, Reports};

async fn keep(
    database: Database<Inspected>,
    grant: &'static CrossTenantGrant,
    own: CrossTenantGrant,
) -> Result<Reports<'static>, PgError> {
    let _ = (grant, &own);
    database.across(grant).await
}

fn main() {
    let _ = keep;
}
