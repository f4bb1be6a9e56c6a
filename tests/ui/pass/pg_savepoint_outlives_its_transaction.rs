//! The twin of `fail/pg_savepoint_outlives_its_transaction.rs`: one line differs.

use tenancy_pg::{PgError, TenantDb, TenantSavepoint, TenantTx};

async fn keep<'s>(db: &'s TenantDb, tx: &'s mut TenantTx<'s>) -> Result<TenantSavepoint<'s, 's>, PgError> {
    let mut own = db.begin().await?;
    let _tx = &tx;
    let _own = &mut own;
    tx.savepoint().await
}

fn main() {
    let _ = keep;
}
