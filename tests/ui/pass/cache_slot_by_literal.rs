//! The twin of `fail/cache_slot_by_literal.rs`: one line differs.

use tenancy_cache::Slot;

fn forge(other: Slot<String>) -> Slot<String> {
    other
}

fn main() {
    let _ = forge;
}
