//! The twin of `fail/pg_database_by_literal.rs`: one line differs.

use tenancy_pg::{Database, Inspected};

fn forge(state: Inspected, other: Database<Inspected>) -> Database<Inspected> {
    let _ = (&state, &other);
    other
}

fn main() {
    let _ = forge;
}
