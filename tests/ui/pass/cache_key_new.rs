//! The twin of `fail/cache_key_new.rs`: one line differs.

use tenancy_cache::CacheKey;

fn main() {
    let _method = CacheKey::layer;
}
