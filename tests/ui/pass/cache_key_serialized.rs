//! The twin of `fail/cache_key_serialized.rs`: one line differs.

type Key = String;

fn write(key: &Key) -> serde_json::Result<String> {
    serde_json::to_string(key)
}

fn main() {
    let _ = write;
}
