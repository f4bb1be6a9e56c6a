//! The twin of `fail/pg_uninspected_scoped.rs`: one line differs.

use tenancy_core::TenantContext;
use tenancy_pg::Database;

type State = tenancy_pg::Inspected;

fn scope(database: &Database<State>, context: &TenantContext) -> bool {
    database.scoped(context).is_ok()
}

fn main() {
    let _ = scope;
}
