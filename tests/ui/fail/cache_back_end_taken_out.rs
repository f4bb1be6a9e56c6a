//! A raw back end is not taken out of the caches.

use tenancy_cache::Caches;

fn raw(caches: &Caches) {
    let _raw = &caches.shared;
}

fn main() {
    let _ = raw;
}
