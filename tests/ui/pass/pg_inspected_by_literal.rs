//! The twin of `fail/pg_inspected_by_literal.rs`: one line differs.

use tenancy_pg::Inspected;

fn forge(other: Inspected) -> Inspected {
    other
}

fn main() {
    let _ = forge;
}
