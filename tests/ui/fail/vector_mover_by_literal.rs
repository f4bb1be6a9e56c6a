//! The mover of one life is not built as a struct literal.

use tenancy_vector::tiers::TenantMover;

fn forge(other: TenantMover) -> TenantMover {
    TenantMover { ..other }
}

fn main() {
    let _ = forge;
}
