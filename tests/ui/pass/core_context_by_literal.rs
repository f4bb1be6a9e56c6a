//! The twin of `fail/core_context_by_literal.rs`: one line differs.

use tenancy_core::TenantContext;

fn forge(other: TenantContext) -> TenantContext {
    other
}

fn main() {
    let _ = forge;
}
