//! A grant across tenants is not built as a struct literal.

use tenancy_core::CrossTenantGrant;

fn forge(other: CrossTenantGrant) -> CrossTenantGrant {
    CrossTenantGrant { ..other }
}

fn main() {
    let _ = forge;
}
