//! The twin of `fail/core_verified_used_twice.rs`: one line differs.

use tenancy_core::{Realm, Selection, Verified};

async fn contexts(realm: &Realm, verified: Verified) {
    let _first = realm.context(verified, Selection::Only).await;
    let _flushed = realm.flush().await;
}

fn main() {
    let _ = contexts;
}
