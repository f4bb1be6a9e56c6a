//! A slot is not copied.

use tenancy_cache::Slot;

fn copy(slot: Slot<String>) -> Slot<String> {
    slot.clone()
}

fn main() {
    let _ = copy;
}
