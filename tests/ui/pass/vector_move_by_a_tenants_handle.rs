//! The twin of `fail/vector_move_by_a_tenants_handle.rs`: one line differs.

use tenancy_vector::tiers::Tier;

type Handle = tenancy_vector::tiers::TenantMover;

async fn promote(handle: &Handle) -> bool {
    handle.move_to(Tier::Dedicated, |_| {}).await.is_ok()
}

fn main() {
    let _ = promote;
}
