//! The twin of `fail/core_tenant_issuer_for_operators.rs`: one line differs.

use tenancy_core::{OperatorIssuer, RealmBuilder, TenantIssuer, WantsOperators};

fn build(builder: RealmBuilder<WantsOperators>, staff: OperatorIssuer, customers: TenantIssuer) {
    let _ = (&staff, &customers);
    let _next = builder.operators([staff]);
}

fn main() {
    let _ = build;
}
