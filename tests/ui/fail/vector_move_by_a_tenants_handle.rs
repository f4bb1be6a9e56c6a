//! A tenant's handle does not move its life.

use tenancy_vector::tiers::Tier;

type Handle = tenancy_vector::TenantVectors;

async fn promote(handle: &Handle) -> bool {
    handle.move_to(Tier::Dedicated, |_| {}).await.is_ok()
}

fn main() {
    let _ = promote;
}
