//! An operators' issuer does not vouch for tenants.

use tenancy_core::{OperatorIssuer, RealmBuilder, TenantIssuer, WantsIssuers};

fn build(builder: RealmBuilder<WantsIssuers>, staff: OperatorIssuer, customers: TenantIssuer) {
    let _ = (&staff, &customers);
    let _next = builder.issuers([staff]);
}

fn main() {
    let _ = build;
}
