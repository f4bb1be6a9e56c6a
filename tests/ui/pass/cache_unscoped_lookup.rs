//! The twin of `fail/cache_unscoped_lookup.rs`: one line differs.

type Handle = tenancy_cache::TenantCaches;

fn responses(handle: &Handle) {
    let _layer = handle.response::<String>();
}

fn main() {
    let _ = responses;
}
