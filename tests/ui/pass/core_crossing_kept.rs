//! The twin of `fail/core_crossing_kept.rs`: one line differs.

use tenancy_core::{Crossing, CrossTenantGrant, Denial, Gate};

async fn keep(
    gate: Gate,
    grant: &'static CrossTenantGrant,
    own: CrossTenantGrant,
) -> Result<Crossing<'static>, Denial> {
    let _ = (grant, &own);
    grant.cross(&gate, "report").await
}

fn main() {
    let _ = keep;
}
