//! An engine's salt is not built around a text.

use tenancy_cache::EngineSalt;

fn made(text: String, other: EngineSalt) -> EngineSalt {
    let _ = (&text, &other);
    EngineSalt(text)
}

fn main() {
    let _ = made;
}
