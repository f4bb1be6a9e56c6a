//! The twin of `fail/vector_hit_by_literal.rs`: one line differs.

use tenancy_vector::Hit;

fn forge(other: Hit) -> Hit {
    other
}

fn main() {
    let _ = forge;
}
