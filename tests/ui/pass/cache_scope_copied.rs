//! The twin of `fail/cache_scope_copied.rs`: one line differs.

use tenancy_cache::CacheScope;

fn copy(scope: CacheScope<'_>) -> CacheScope<'_> {
    scope
}

fn main() {
    let _ = copy;
}
