//! The twin of `fail/cache_key_from_bytes.rs`: one line differs.

type Key = Vec<u8>;

fn main() {
    let _key: Key = [7; 32].into();
}
