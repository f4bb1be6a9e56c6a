//! The connection of a tenant's database is not handed out without a transaction.

use tenancy_pg::{PgError, TenantDb, TenantTx, danger};

async fn raw(mut db: TenantDb, mut tx: TenantTx<'_>) -> Result<(), PgError> {
    let _both = (&mut db, &mut tx);
    danger::connection(&mut db, "a library that takes a connection").await?;
    Ok(())
}

fn main() {
    let _ = raw;
}
