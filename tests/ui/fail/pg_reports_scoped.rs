//! Reports give no tenant's handle.

use tenancy_core::TenantContext;
use tenancy_pg::{Database, Inspected, PgError, Reports};

fn write(reports: &Reports<'_>, database: &Database<Inspected>, mine: &TenantContext) -> Result<(), PgError> {
    let _ = (reports, database);
    reports.scoped(mine).map(drop)
}

fn main() {
    let _ = write;
}
