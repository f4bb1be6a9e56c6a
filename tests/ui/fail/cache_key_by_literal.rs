//! A cache key is not built as a struct literal.

use tenancy_cache::CacheKey;

fn forge(other: CacheKey) -> CacheKey {
    CacheKey { ..other }
}

fn main() {
    let _ = forge;
}
