//! A slot, which holds the key of the question, is not built as a struct literal.

use tenancy_cache::Slot;

fn forge(other: Slot<String>) -> Slot<String> {
    Slot { ..other }
}

fn main() {
    let _ = forge;
}
