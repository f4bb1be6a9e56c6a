//! A verified credential makes one context.

use tenancy_core::{Realm, Selection, Verified};

async fn contexts(realm: &Realm, verified: Verified) {
    let _first = realm.context(verified, Selection::Only).await;
    let _second = realm.context(verified, Selection::Only).await;
}

fn main() {
    let _ = contexts;
}
