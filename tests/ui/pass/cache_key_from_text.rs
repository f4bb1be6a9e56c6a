//! The twin of `fail/cache_key_from_text.rs`: one line differs.

type Key = String;

fn main() {
    let _key: Key = "acme:answer:42".into();
}
