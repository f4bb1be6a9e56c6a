//! A tenant's entries are not dropped through caches that are not scoped.

type Handle = tenancy_cache::Caches;

async fn flush(handle: &Handle) -> bool {
    handle.flush().await.is_ok()
}

fn main() {
    let _ = flush;
}
