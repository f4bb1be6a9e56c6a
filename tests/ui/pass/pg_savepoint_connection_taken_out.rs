//! The twin of `fail/pg_savepoint_connection_taken_out.rs`: one line differs.

use tenancy_pg::{PgError, TenantSavepoint, TenantTx, danger};

async fn raw(mut savepoint: TenantSavepoint<'_, '_>, mut tx: TenantTx<'_>) -> Result<(), PgError> {
    let _both = (&mut savepoint, &mut tx);
    danger::connection(&mut tx, "a library that takes a connection").await?;
    Ok(())
}

fn main() {
    let _ = raw;
}
