//! The twin of `fail/cache_engine_salt_random.rs`: one line differs.

use tenancy_cache::EngineSalt;

fn made(other: EngineSalt) -> EngineSalt {
    let _ = &other;
    other
}

fn main() {
    let _ = made;
}
