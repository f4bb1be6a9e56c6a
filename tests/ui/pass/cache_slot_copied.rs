//! The twin of `fail/cache_slot_copied.rs`: one line differs.

use tenancy_cache::Slot;

fn copy(slot: Slot<String>) -> Slot<String> {
    slot
}

fn main() {
    let _ = copy;
}
