//! A raw transaction is not reached through a tenant's.

use tenancy_pg::TenantTx;

fn raw(tx: &mut TenantTx<'_>) {
    let _raw: &mut sqlx::PgConnection = tx;
}

fn main() {
    let _ = raw;
}
