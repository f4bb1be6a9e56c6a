//! The twin of `fail/core_context_from_tenant_id.rs`: one line differs.

use tenancy_core::TenantId;

type Made = Option<TenantId>;

fn made(id: TenantId) -> Made {
    id.into()
}

fn main() {
    let _ = made;
}
