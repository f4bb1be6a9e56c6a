//! A service does not run on a database that was not inspected.

use tenancy_pg::Database;
use tenancy_stack::StoresBuilder;

type State = tenancy_pg::Uninspected;

fn gather(stores: StoresBuilder, database: Database<State>) -> StoresBuilder {
    stores.database(database)
}

fn main() {
    let _ = gather;
}
