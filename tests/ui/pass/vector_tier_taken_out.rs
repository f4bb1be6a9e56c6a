//! The twin of `fail/vector_tier_taken_out.rs`: one line differs.

use tenancy_vector::tiers::TieredBackend;

fn raw(tiered: &TieredBackend) {
    let _tiered = tiered;
}

fn main() {
    let _ = raw;
}
