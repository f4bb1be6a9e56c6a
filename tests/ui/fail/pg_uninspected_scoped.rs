//! A database that was not inspected can't be scoped.

use tenancy_core::TenantContext;
use tenancy_pg::Database;

type State = tenancy_pg::Uninspected;

fn scope(database: &Database<State>, context: &TenantContext) -> bool {
    database.scoped(context).is_ok()
}

fn main() {
    let _ = scope;
}
