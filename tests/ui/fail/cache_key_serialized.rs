//! A cache key is not serialised.

type Key = tenancy_cache::CacheKey;

fn write(key: &Key) -> serde_json::Result<String> {
    serde_json::to_string(key)
}

fn main() {
    let _ = write;
}
