//! A life is not moved before a context says whose.

use tenancy_vector::Tier;

type Handle = tenancy_vector::Mover;

async fn promote(handle: &Handle) -> bool {
    handle.move_to(Tier::Dedicated, |_| {}).await.is_ok()
}

fn main() {
    let _ = promote;
}
