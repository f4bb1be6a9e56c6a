//! The twin of `fail/pg_transaction_committed_in_a_savepoint.rs`: one line differs.

use tenancy_pg::{PgError, TenantTx};

async fn both(mut tx: TenantTx<'_>) -> Result<(), PgError> {
    let savepoint = tx.savepoint().await?;
    let committed = Ok(());
    savepoint.release().await?;
    committed
}

fn main() {
    let _ = both;
}
