//! A semantic cache has no data method before it is scoped.

use tenancy_cache::SemanticParts;
use tenancy_cache::semantic::SemanticCache;
use tenancy_core::TenantContext;

async fn f(cache: &SemanticCache, ctx: &TenantContext, parts: &SemanticParts) {
    let mine = cache.scoped::<String>(ctx).unwrap();
    let _ = cache.invalidate(parts).await;
    let _ = mine;
}

fn main() {
    let _ = f;
}
