//! The twin of `fail/pg_database_connection_taken_out.rs`: one line differs.

use tenancy_pg::{PgError, TenantDb, TenantTx, danger};

async fn raw(mut db: TenantDb, mut tx: TenantTx<'_>) -> Result<(), PgError> {
    let _both = (&mut db, &mut tx);
    danger::connection(&mut tx, "a library that takes a connection").await?;
    Ok(())
}

fn main() {
    let _ = raw;
}
