//! The twin of `fail/cache_engine_salt_made.rs`: one line differs.

use tenancy_cache::EngineSalt;

fn made(text: String, other: EngineSalt) -> EngineSalt {
    let _ = (&text, &other);
    other
}

fn main() {
    let _ = made;
}
