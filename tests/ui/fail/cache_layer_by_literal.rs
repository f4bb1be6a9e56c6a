//! A layer of a tenant's caches is not built as a struct literal.

use tenancy_cache::{ResponseParts, TenantLayer};

fn forge(other: TenantLayer<ResponseParts, String>) -> TenantLayer<ResponseParts, String> {
    TenantLayer { ..other }
}

fn main() {
    let _ = forge;
}
