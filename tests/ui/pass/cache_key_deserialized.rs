//! The twin of `fail/cache_key_deserialized.rs`: one line differs.

type Key = String;

fn read(text: &str) -> serde_json::Result<Key> {
    serde_json::from_str(text)
}

fn main() {
    let _ = read;
}
