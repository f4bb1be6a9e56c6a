//! The key of a point is not deserialised.

type Key = tenancy_vector::PointKey;

fn read(text: &str) -> serde_json::Result<Key> {
    serde_json::from_str(text)
}

fn main() {
    let _ = read;
}
