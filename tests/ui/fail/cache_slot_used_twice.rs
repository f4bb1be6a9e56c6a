//! A slot takes one value.

use tenancy_cache::Slot;

async fn fill(slot: Slot<String>, answer: &String) {
    let _first = slot.put(answer).await;
    let _second = slot.put(answer).await;
}

fn main() {
    let _ = fill;
}
