//! The twin of `fail/cache_engine_salt_from_text.rs`: one line differs.

type Salt = String;

fn main() {
    let _salt: Salt = "s1_acme".into();
}
