//! A transaction does not outlive the handle it was begun with.

use tenancy_pg::{PgError, TenantDb, TenantTx};

async fn keep(mine: &'static TenantDb, own: TenantDb) -> Result<TenantTx<'static>, PgError> {
    let _ = (mine, &own);
    own.begin().await
}

fn main() {
    let _ = keep;
}
