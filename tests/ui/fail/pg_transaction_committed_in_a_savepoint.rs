//! A transaction is not committed while a savepoint of it lives.

use tenancy_pg::{PgError, TenantTx};

async fn both(mut tx: TenantTx<'_>) -> Result<(), PgError> {
    let savepoint = tx.savepoint().await?;
    let committed = tx.commit().await;
    savepoint.release().await?;
    committed
}

fn main() {
    let _ = both;
}
