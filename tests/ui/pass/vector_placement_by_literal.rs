//! The twin of `fail/vector_placement_by_literal.rs`: one line differs.

use tenancy_vector::tiers::Placement;

fn forge(other: Placement) -> Placement {
    other
}

fn main() {
    let _ = forge;
}
