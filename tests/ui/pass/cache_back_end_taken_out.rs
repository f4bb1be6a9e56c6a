//! The twin of `fail/cache_back_end_taken_out.rs`: one line differs.

use tenancy_cache::Caches;

fn raw(caches: &Caches) {
    let _caches = caches;
}

fn main() {
    let _ = raw;
}
