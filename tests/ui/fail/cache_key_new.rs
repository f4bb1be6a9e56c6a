//! The constructor of a cache key can't be called by a user.

use tenancy_cache::CacheKey;

fn main() {
    let _method = CacheKey::new;
}
