//! A database that was not inspected has no reports.

use tenancy_core::CrossTenantGrant;
use tenancy_pg::{Database, PgError};

type State = tenancy_pg::Uninspected;

async fn read(database: &Database<State>, grant: &CrossTenantGrant) -> Result<(), PgError> {
    database.across(grant).await.map(drop)
}

fn main() {
    let _ = read;
}
