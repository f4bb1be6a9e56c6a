//! A tenant's handle on a shared corpus does not delete from it.

use tenancy_vector::*;

type Handle = SharedCorpus;

async fn call(handle: &Handle) -> bool {
    handle.change(vec![Change::Delete(Select::All)]).await.is_ok()
}

fn main() {
    let _ = call;
}
