//! A grant across tenants is not copied.

use tenancy_core::CrossTenantGrant;

fn keep(grant: CrossTenantGrant) -> CrossTenantGrant {
    grant.clone()
}

fn main() {
    let _ = keep;
}
