//! The twin of `fail/core_crossing_by_literal.rs`: one line differs.

use tenancy_core::Crossing;

fn forge(other: Crossing<'_>) -> Crossing<'_> {
    other
}

fn main() {
    let _ = forge;
}
