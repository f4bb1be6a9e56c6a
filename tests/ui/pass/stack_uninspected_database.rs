//! The twin of `fail/stack_uninspected_database.rs`: one line differs.

use tenancy_pg::Database;
use tenancy_stack::StoresBuilder;

type State = tenancy_pg::Inspected;

fn gather(stores: StoresBuilder, database: Database<State>) -> StoresBuilder {
    stores.database(database)
}

fn main() {
    let _ = gather;
}
