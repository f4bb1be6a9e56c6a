//! The twin of `fail/pg_unscoped_begin.rs`: one line differs.

type Handle = tenancy_pg::TenantDb;

async fn begin(handle: &Handle) -> bool {
    handle.begin().await.is_ok()
}

fn main() {
    let _ = begin;
}
