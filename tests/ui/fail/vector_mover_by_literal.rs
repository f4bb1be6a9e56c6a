//! The mover of one life is not built as a struct literal.

use tenancy_vector::TenantMover;

fn forge(other: TenantMover) -> TenantMover {
    TenantMover { ..other }
}

fn main() {
    let _ = forge;
}
