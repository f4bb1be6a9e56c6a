//! A cache key is not made from a text.

type Key = tenancy_cache::CacheKey;

fn main() {
    let _key: Key = "acme:answer:42".into();
}
