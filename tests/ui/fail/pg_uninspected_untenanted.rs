//! A database that was not inspected reads no global table.

use tenancy_pg::Database;

type State = tenancy_pg::Uninspected;

fn read(database: &Database<State>) {
    let _reader = database.untenanted();
}

fn main() {
    let _ = read;
}
