//! The connection behind a savepoint is not handed out, not even with a reason.

use tenancy_pg::{PgError, TenantSavepoint, TenantTx, danger};

async fn raw(mut savepoint: TenantSavepoint<'_, '_>, mut tx: TenantTx<'_>) -> Result<(), PgError> {
    let _both = (&mut savepoint, &mut tx);
    danger::connection(&mut savepoint, "a library that takes a connection").await?;
    Ok(())
}

fn main() {
    let _ = raw;
}
