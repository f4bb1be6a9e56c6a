//! Where a life is can't be made up as a struct literal.

use tenancy_vector::tiers::Placement;

fn forge(other: Placement) -> Placement {
    Placement { ..other }
}

fn main() {
    let _ = forge;
}
