//! The twin of `fail/cache_slot_used_twice.rs`: one line differs.

use tenancy_cache::Slot;

async fn fill(slot: Slot<String>, answer: &String) {
    let _first = slot.put(answer).await;
    let _second = answer;
}

fn main() {
    let _ = fill;
}
