//! The twin of `fail/cache_semantic_for_another_type.rs`: one line differs.

use tenancy_cache::semantic::SemanticSlot;

async fn f(slot: SemanticSlot<String>) {
    let _ = slot.put(&String::new()).await;
}

fn main() {
    let _ = f;
}
