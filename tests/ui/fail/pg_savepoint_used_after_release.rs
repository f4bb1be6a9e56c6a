//! A savepoint runs no statement after it was released.

use tenancy_pg::{PgError, TenantTx};

async fn twice(mut tx: TenantTx<'_>) -> Result<(), PgError> {
    let mut savepoint = tx.savepoint().await?;
    sqlx::query("delete from documents").execute(&mut savepoint).await?;
    savepoint.release().await?;
    sqlx::query("delete from documents").execute(&mut savepoint).await?;
    Ok(())
}

fn main() {
    let _ = twice;
}
