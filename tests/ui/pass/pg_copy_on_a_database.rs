//! The twin of `fail/pg_copy_on_a_database.rs`: one line differs.

use tenancy_pg::{CopyOut, TenantDb, TenantTx};

fn copy(mut db: TenantDb, mut tx: TenantTx<'_>) {
    let _both = (&mut db, &mut tx);
    let _chunks = tx.copy_out(CopyOut::query("table documents"));
}

fn main() {
    let _ = copy;
}
