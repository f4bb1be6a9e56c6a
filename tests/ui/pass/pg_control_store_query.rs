//! The twin of `fail/pg_control_store_query.rs`: one line differs.

type Handle = tenancy_pg::TenantDb;

async fn count(handle: &Handle) -> bool {
    sqlx::query("select count(*) from documents").execute(handle).await.is_ok()
}

fn main() {
    let _ = count;
}
