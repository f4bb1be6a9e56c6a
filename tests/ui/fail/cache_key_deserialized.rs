//! A cache key is not deserialised.

type Key = tenancy_cache::CacheKey;

fn read(text: &str) -> serde_json::Result<Key> {
    serde_json::from_str(text)
}

fn main() {
    let _ = read;
}
