//! Points are not changed before the store is scoped.

use tenancy_vector::*;

type Handle = VectorStore;

async fn call(handle: &Handle) -> bool {
    handle.change(Vec::new()).await.is_ok()
}

fn main() {
    let _ = call;
}
