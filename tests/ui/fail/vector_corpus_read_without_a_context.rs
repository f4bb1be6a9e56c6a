//! A shared corpus is not read before a context is given.

use tenancy_vector::*;

type Handle = SharedVectors;

async fn call(handle: &Handle, query: &VectorQuery) -> bool {
    handle.query(query).await.is_ok()
}

fn main() {
    let _ = call;
}
