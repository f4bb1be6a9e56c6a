//! One of two back ends is not taken out of the one that they are together.

use tenancy_vector::tiers::TieredBackend;

fn raw(tiered: &TieredBackend) {
    let _raw = &tiered.shared;
}

fn main() {
    let _ = raw;
}
