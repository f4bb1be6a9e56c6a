//! The twin of `fail/core_grant_cloned.rs`: one line differs.

use tenancy_core::CrossTenantGrant;

fn keep(grant: CrossTenantGrant) -> CrossTenantGrant {
    grant
}

fn main() {
    let _ = keep;
}
