//! The twin of `fail/core_operator_issuer_for_tenants.rs`: one line differs.

use tenancy_core::{OperatorIssuer, RealmBuilder, TenantIssuer, WantsIssuers};

fn build(builder: RealmBuilder<WantsIssuers>, staff: OperatorIssuer, customers: TenantIssuer) {
    let _ = (&staff, &customers);
    let _next = builder.issuers([customers]);
}

fn main() {
    let _ = build;
}
