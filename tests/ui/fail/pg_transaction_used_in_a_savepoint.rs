//! A transaction runs no statement while a savepoint of it lives.

use tenancy_pg::{PgError, TenantTx};

async fn both(mut tx: TenantTx<'_>) -> Result<(), PgError> {
    let mut savepoint = tx.savepoint().await?;
    let _savepoint = &mut savepoint;
    sqlx::query("delete from documents").execute(&mut tx).await?;
    savepoint.release().await
}

fn main() {
    let _ = both;
}
