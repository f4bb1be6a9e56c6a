//! The registry of tenants runs no statement of a caller's.

type Handle = tenancy_pg::TenantRegistry;

fn count(handle: &Handle) {
    let _running = sqlx::query("select count(*) from documents").execute(handle);
}

fn main() {
    let _ = count;
}
