//! The twin of `fail/cache_slot_for_another_type.rs`: one line differs.

use tenancy_cache::Slot;

async fn fill(slot: Slot<String>, answer: &String, count: &u32) -> bool {
    let _ = (answer, count);
    slot.put(answer).await.is_ok()
}

fn main() {
    let _ = fill;
}
