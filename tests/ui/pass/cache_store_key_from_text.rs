//! The twin of `fail/cache_store_key_from_text.rs`: one line differs.

type Name = String;

fn main() {
    let _name: Name = "tc1:{acme}:response:42".into();
}
