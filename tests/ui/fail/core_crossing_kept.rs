//! A use of a grant does not outlive the grant.

use tenancy_core::{Crossing, CrossTenantGrant, Denial, Gate};

async fn keep(
    gate: Gate,
    grant: &'static CrossTenantGrant,
    own: CrossTenantGrant,
) -> Result<Crossing<'static>, Denial> {
    let _ = (grant, &own);
    own.cross(&gate, "report").await
}

fn main() {
    let _ = keep;
}
