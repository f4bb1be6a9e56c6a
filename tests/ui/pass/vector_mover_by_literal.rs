//! The twin of `fail/vector_mover_by_literal.rs`: one line differs.

use tenancy_vector::tiers::TenantMover;

fn forge(other: TenantMover) -> TenantMover {
    other
}

fn main() {
    let _ = forge;
}
