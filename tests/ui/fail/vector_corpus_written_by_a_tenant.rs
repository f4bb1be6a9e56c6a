//! A tenant's handle on a shared corpus does not write it.

use tenancy_vector::*;

type Handle = SharedCorpus;

async fn call(handle: &Handle, points: Vec<Point>) -> bool {
    handle.upsert(points).await.is_ok()
}

fn main() {
    let _ = call;
}
