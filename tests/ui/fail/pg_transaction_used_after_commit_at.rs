//! A transaction runs no statement after it was committed and has said where.

use tenancy_pg::TenantTx;

async fn twice(mut tx: TenantTx<'_>) -> bool {
    let _committed = tx.commit_at().await;
    sqlx::query("delete from documents").execute(&mut tx).await.is_ok()
}

fn main() {
    let _ = twice;
}
