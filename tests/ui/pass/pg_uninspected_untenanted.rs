//! The twin of `fail/pg_uninspected_untenanted.rs`: one line differs.

use tenancy_pg::Database;

type State = tenancy_pg::Inspected;

fn read(database: &Database<State>) {
    let _reader = database.untenanted();
}

fn main() {
    let _ = read;
}
