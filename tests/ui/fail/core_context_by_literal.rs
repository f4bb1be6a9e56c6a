//! A context is not built as a struct literal, not even from another one.

use tenancy_core::TenantContext;

fn forge(other: TenantContext) -> TenantContext {
    TenantContext { ..other }
}

fn main() {
    let _ = forge;
}
