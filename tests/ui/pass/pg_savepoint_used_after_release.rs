//! The twin of `fail/pg_savepoint_used_after_release.rs`: one line differs.

use tenancy_pg::{PgError, TenantTx};

async fn twice(mut tx: TenantTx<'_>) -> Result<(), PgError> {
    let mut savepoint = tx.savepoint().await?;
    sqlx::query("delete from documents").execute(&mut savepoint).await?;
    savepoint.release().await?;
    sqlx::query("delete from documents").execute(&mut tx).await?;
    Ok(())
}

fn main() {
    let _ = twice;
}
