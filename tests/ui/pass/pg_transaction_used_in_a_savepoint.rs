//! The twin of `fail/pg_transaction_used_in_a_savepoint.rs`: one line differs.

use tenancy_pg::{PgError, TenantTx};

async fn both(mut tx: TenantTx<'_>) -> Result<(), PgError> {
    let mut savepoint = tx.savepoint().await?;
    let _savepoint = &mut savepoint;
    sqlx::query("delete from documents").execute(&mut savepoint).await?;
    savepoint.release().await
}

fn main() {
    let _ = both;
}
