//! A savepoint does not outlive its transaction.

use tenancy_pg::{PgError, TenantDb, TenantSavepoint, TenantTx};

async fn keep<'s>(db: &'s TenantDb, tx: &'s mut TenantTx<'s>) -> Result<TenantSavepoint<'s, 's>, PgError> {
    let mut own = db.begin().await?;
    let _tx = &tx;
    let _own = &mut own;
    own.savepoint().await
}

fn main() {
    let _ = keep;
}
