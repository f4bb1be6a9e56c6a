//! The twin of `fail/core_key_slot_by_literal.rs`: one line differs.

use tenancy_core::KeySlot;

fn forge(other: KeySlot<'_>) -> KeySlot<'_> {
    other
}

fn main() {
    let _ = forge;
}
