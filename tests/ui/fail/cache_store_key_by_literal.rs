//! The name of an entry in a back end is not built as a struct literal.

use tenancy_cache::StoreKey;

fn forge(other: StoreKey) -> StoreKey {
    StoreKey { ..other }
}

fn main() {
    let _ = forge;
}
