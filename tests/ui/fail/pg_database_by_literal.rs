//! A database is not put together of an inspection and nothing else.

use tenancy_pg::{Database, Inspected};

fn forge(state: Inspected, other: Database<Inspected>) -> Database<Inspected> {
    let _ = (&state, &other);
    Database { state }
}

fn main() {
    let _ = forge;
}
