//! The twin of `fail/cache_layer_by_literal.rs`: one line differs.

use tenancy_cache::{ResponseParts, TenantLayer};

fn forge(other: TenantLayer<ResponseParts, String>) -> TenantLayer<ResponseParts, String> {
    other
}

fn main() {
    let _ = forge;
}
