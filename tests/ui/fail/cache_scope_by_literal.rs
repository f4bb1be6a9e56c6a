//! A cache back end is called by a scoped handle alone: its scope is not built elsewhere.

use tenancy_cache::CacheScope;

fn forge(other: CacheScope<'_>) -> CacheScope<'_> {
    CacheScope { ..other }
}

fn main() {
    let _ = forge;
}
