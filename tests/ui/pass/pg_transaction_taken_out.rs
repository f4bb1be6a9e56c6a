//! The twin of `fail/pg_transaction_taken_out.rs`: one line differs.

use tenancy_pg::TenantTx;

fn raw(tx: &mut TenantTx<'_>) {
    let _tx: &mut TenantTx<'_> = tx;
}

fn main() {
    let _ = raw;
}
