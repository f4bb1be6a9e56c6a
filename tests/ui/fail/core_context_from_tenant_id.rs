//! A context is not converted from a tenant's name.

use tenancy_core::TenantId;

type Made = tenancy_core::TenantContext;

fn main() {
    let _made: Option<Made> = TenantId::parse("acme").ok().map(Made::from);
}
