//! The place of an answer and its question takes one value.

use tenancy_cache::semantic::SemanticSlot;

async fn f(slot: SemanticSlot<String>, other: SemanticSlot<String>) {
    let _ = &other;
    let _ = slot.put(&String::new()).await;
    let _ = slot.put(&String::new()).await;
}

fn main() {
    let _ = f;
}
