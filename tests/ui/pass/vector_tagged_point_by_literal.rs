//! The twin of `fail/vector_tagged_point_by_literal.rs`: one line differs.

use tenancy_vector::TaggedPoint;

fn forge(other: TaggedPoint) -> TaggedPoint {
    other
}

fn main() {
    let _ = forge;
}
