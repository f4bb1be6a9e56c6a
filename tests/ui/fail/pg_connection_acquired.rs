//! No raw connection is acquired from a tenant's database.

type Handle = tenancy_pg::TenantDb;

async fn raw(handle: &Handle) -> bool {
    sqlx::Acquire::acquire(handle).await.is_ok()
}

fn main() {
    let _ = raw;
}
