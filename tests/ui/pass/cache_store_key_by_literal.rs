//! The twin of `fail/cache_store_key_by_literal.rs`: one line differs.

use tenancy_cache::StoreKey;

fn forge(other: StoreKey) -> StoreKey {
    other
}

fn main() {
    let _ = forge;
}
