//! The twin of `fail/cache_handle_by_literal.rs`: one line differs.

use tenancy_cache::TenantCaches;

fn forge(other: TenantCaches) -> TenantCaches {
    other
}

fn main() {
    let _ = forge;
}
