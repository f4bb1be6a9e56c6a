//! A tenant's database is not built as a struct literal.

use tenancy_pg::TenantDb;

fn forge(other: TenantDb) -> TenantDb {
    TenantDb { ..other }
}

fn main() {
    let _ = forge;
}
