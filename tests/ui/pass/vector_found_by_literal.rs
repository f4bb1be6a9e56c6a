//! The twin of `fail/vector_found_by_literal.rs`: one line differs.

use tenancy_vector::FoundPoint;

fn forge(other: FoundPoint) -> FoundPoint {
    other
}

fn main() {
    let _ = forge;
}
