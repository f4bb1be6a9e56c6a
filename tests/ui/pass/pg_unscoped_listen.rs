//! The twin of `fail/pg_unscoped_listen.rs`: one line differs.

type Handle = tenancy_pg::TenantDb;

async fn listen(handle: &Handle) -> bool {
    handle.listen("news").await.is_ok()
}

fn main() {
    let _ = listen;
}
