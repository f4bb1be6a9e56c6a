//! A tenant's handle on a shared corpus does not end it.

use tenancy_vector::*;

type Handle = SharedCorpus;

async fn call(handle: &Handle) -> bool {
    handle.erase().await.is_ok()
}

fn main() {
    let _ = call;
}
