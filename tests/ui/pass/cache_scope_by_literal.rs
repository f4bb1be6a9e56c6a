//! The twin of `fail/cache_scope_by_literal.rs`: one line differs.

use tenancy_cache::CacheScope;

fn forge(other: CacheScope<'_>) -> CacheScope<'_> {
    other
}

fn main() {
    let _ = forge;
}
