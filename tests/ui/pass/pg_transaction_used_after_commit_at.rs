//! The twin of `fail/pg_transaction_used_after_commit_at.rs`: one line differs.

use tenancy_pg::TenantTx;

async fn twice(mut tx: TenantTx<'_>) -> bool {
    let _statement = sqlx::query("select 1").execute(&mut tx).await;
    sqlx::query("delete from documents").execute(&mut tx).await.is_ok()
}

fn main() {
    let _ = twice;
}
