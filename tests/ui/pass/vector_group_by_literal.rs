//! The twin of `fail/vector_group_by_literal.rs`: one line differs.

use tenancy_vector::HitGroup;

fn forge(other: HitGroup) -> HitGroup {
    other
}

fn main() {
    let _ = forge;
}
