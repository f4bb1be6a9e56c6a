//! Points are not read page by page before the store is scoped.

use tenancy_vector::*;

type Handle = VectorStore;

async fn call(handle: &Handle) -> bool {
    handle.scroll(&Scroll::new(), None).await.is_ok()
}

fn main() {
    let _ = call;
}
