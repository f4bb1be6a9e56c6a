//! A raw connection is not taken out of a tenant's transaction.

use tenancy_pg::TenantTx;

fn raw(tx: &TenantTx<'_>) {
    let _raw = &tx.transaction;
}

fn main() {
    let _ = raw;
}
