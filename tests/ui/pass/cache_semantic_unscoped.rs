//! The twin of `fail/cache_semantic_unscoped.rs`: one line differs.

use tenancy_cache::SemanticParts;
use tenancy_cache::semantic::SemanticCache;
use tenancy_core::TenantContext;

async fn f(cache: &SemanticCache, ctx: &TenantContext, parts: &SemanticParts) {
    let mine = cache.scoped::<String>(ctx).unwrap();
    let _ = mine.invalidate(parts).await;
    let _ = mine;
}

fn main() {
    let _ = f;
}
