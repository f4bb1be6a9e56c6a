//! A place in a semantic cache takes the type that was asked for.

use tenancy_cache::semantic::SemanticSlot;

async fn f(slot: SemanticSlot<String>) {
    let _ = slot.put(&7_u32).await;
}

fn main() {
    let _ = f;
}
