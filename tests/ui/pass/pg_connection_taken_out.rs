//! The twin of `fail/pg_connection_taken_out.rs`: one line differs.

use tenancy_pg::TenantTx;

fn raw(tx: &TenantTx<'_>) {
    let _tx = tx;
}

fn main() {
    let _ = raw;
}
