//! A tenant's caches are not built as a struct literal.

use tenancy_cache::TenantCaches;

fn forge(other: TenantCaches) -> TenantCaches {
    TenantCaches { ..other }
}

fn main() {
    let _ = forge;
}
