//! Points are not counted before the store is scoped.

use tenancy_vector::*;

type Handle = VectorStore;

async fn call(handle: &Handle) -> bool {
    handle.count(None).await.is_ok()
}

fn main() {
    let _ = call;
}
