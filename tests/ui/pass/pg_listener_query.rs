//! The twin of `fail/pg_listener_query.rs`: one line differs.

type Handle = tenancy_pg::TenantDb;

fn count(handle: &Handle) {
    let _running = sqlx::query("select count(*) from documents").execute(handle);
}

fn main() {
    let _ = count;
}
