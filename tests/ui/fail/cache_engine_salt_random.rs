//! A salt of nobody's is made by a probe alone.

use tenancy_cache::EngineSalt;

fn made(other: EngineSalt) -> EngineSalt {
    let _ = &other;
    EngineSalt::random()
}

fn main() {
    let _ = made;
}
