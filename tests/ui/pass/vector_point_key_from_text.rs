//! The twin of `fail/vector_point_key_from_text.rs`: one line differs.

type Key = String;

fn main() {
    let _key: Key = "acme/42".into();
}
