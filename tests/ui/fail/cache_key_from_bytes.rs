//! A cache key is not made from bytes.

type Key = tenancy_cache::CacheKey;

fn main() {
    let _key: Key = [7; 32].into();
}
