//! The twin of `fail/pg_untenanted_by_literal.rs`: one line differs.

use tenancy_pg::Untenanted;

fn forge(other: Untenanted) -> Untenanted {
    other
}

fn main() {
    let _ = forge;
}
