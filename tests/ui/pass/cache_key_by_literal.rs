//! The twin of `fail/cache_key_by_literal.rs`: one line differs.

use tenancy_cache::CacheKey;

fn forge(other: CacheKey) -> CacheKey {
    other
}

fn main() {
    let _ = forge;
}
