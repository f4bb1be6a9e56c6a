//! The twin of `fail/cache_semantic_slot_used_twice.rs`: one line differs.

use tenancy_cache::semantic::SemanticSlot;

async fn f(slot: SemanticSlot<String>, other: SemanticSlot<String>) {
    let _ = &other;
    let _ = slot.put(&String::new()).await;
    let _ = other.put(&String::new()).await;
}

fn main() {
    let _ = f;
}
