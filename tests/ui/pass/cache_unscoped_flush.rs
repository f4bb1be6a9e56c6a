//! The twin of `fail/cache_unscoped_flush.rs`: one line differs.

type Handle = tenancy_cache::TenantCaches;

async fn flush(handle: &Handle) -> bool {
    handle.flush().await.is_ok()
}

fn main() {
    let _ = flush;
}
