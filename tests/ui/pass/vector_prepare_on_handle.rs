//! The twin of `fail/vector_prepare_on_handle.rs`: one line differs.

use tenancy_vector::*;

type Handle = VectorStore;

async fn call(handle: &Handle) -> bool {
    handle.prepare().await.is_ok()
}

fn main() {
    let _ = call;
}
