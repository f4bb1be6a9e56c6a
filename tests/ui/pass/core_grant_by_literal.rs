//! The twin of `fail/core_grant_by_literal.rs`: one line differs.

use tenancy_core::CrossTenantGrant;

fn forge(other: CrossTenantGrant) -> CrossTenantGrant {
    other
}

fn main() {
    let _ = forge;
}
