//! Nothing is copied out of a tenant's database without a transaction.

use tenancy_pg::{CopyOut, TenantDb, TenantTx};

fn copy(mut db: TenantDb, mut tx: TenantTx<'_>) {
    let _both = (&mut db, &mut tx);
    let _chunks = db.copy_out(CopyOut::query("table documents"));
}

fn main() {
    let _ = copy;
}
