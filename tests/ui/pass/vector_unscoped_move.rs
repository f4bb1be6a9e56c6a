//! The twin of `fail/vector_unscoped_move.rs`: one line differs.

use tenancy_vector::tiers::Tier;

type Handle = tenancy_vector::tiers::TenantMover;

async fn promote(handle: &Handle) -> bool {
    handle.move_to(Tier::Dedicated, |_| {}).await.is_ok()
}

fn main() {
    let _ = promote;
}
