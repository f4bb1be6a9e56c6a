//! A key store is not asked for a key by anybody but the realm.

use tenancy_core::KeySlot;

fn forge(other: KeySlot<'_>) -> KeySlot<'_> {
    KeySlot { ..other }
}

fn main() {
    let _ = forge;
}
