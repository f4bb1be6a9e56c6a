//! A life is not moved before a context says whose.

use tenancy_vector::tiers::Tier;

type Handle = tenancy_vector::tiers::Mover;

async fn promote(handle: &Handle) -> bool {
    handle.move_to(Tier::Dedicated, |_| {}).await.is_ok()
}

fn main() {
    let _ = promote;
}
