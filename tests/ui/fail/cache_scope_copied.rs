//! A cache back end does not copy the scope it is called with.

use tenancy_cache::CacheScope;

fn copy(scope: CacheScope<'_>) -> CacheScope<'_> {
    scope.clone()
}

fn main() {
    let _ = copy;
}
