//! The twin of `fail/pg_transaction_kept.rs`: one line differs.

use tenancy_pg::{PgError, TenantDb, TenantTx};

async fn keep(mine: &'static TenantDb, own: TenantDb) -> Result<TenantTx<'static>, PgError> {
    let _ = (mine, &own);
    mine.begin().await
}

fn main() {
    let _ = keep;
}
