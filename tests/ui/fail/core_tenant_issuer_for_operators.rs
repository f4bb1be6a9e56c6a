//! A tenants' issuer does not open grants.

use tenancy_core::{OperatorIssuer, RealmBuilder, TenantIssuer, WantsOperators};

fn build(builder: RealmBuilder<WantsOperators>, staff: OperatorIssuer, customers: TenantIssuer) {
    let _ = (&staff, &customers);
    let _next = builder.operators([customers]);
}

fn main() {
    let _ = build;
}
