//! The twin of `fail/core_context_from_tenant_id.rs`: one line differs.

use tenancy_core::TenantId;

type Made = Option<TenantId>;

fn main() {
    let _made: Option<Made> = TenantId::parse("acme").ok().map(Made::from);
}
