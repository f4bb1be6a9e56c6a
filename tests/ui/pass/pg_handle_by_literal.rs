//! The twin of `fail/pg_handle_by_literal.rs`: one line differs.

use tenancy_pg::TenantDb;

fn forge(other: TenantDb) -> TenantDb {
    other
}

fn main() {
    let _ = forge;
}
