//! A slot takes a value of its layer's type and no other.

use tenancy_cache::Slot;

async fn fill(slot: Slot<String>, answer: &String, count: &u32) -> bool {
    let _ = (answer, count);
    slot.put(count).await.is_ok()
}

fn main() {
    let _ = fill;
}
