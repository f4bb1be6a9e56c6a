//! A context is not converted from a tenant's name.

use tenancy_core::TenantId;

type Made = tenancy_core::TenantContext;

fn made(id: TenantId) -> Made {
    id.into()
}

fn main() {
    let _ = made;
}
