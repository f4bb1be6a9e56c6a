//! The twin of `fail/vector_unscoped_change.rs`: one line differs.

use tenancy_vector::*;

type Handle = TenantVectors;

async fn call(handle: &Handle) -> bool {
    handle.change(Vec::new()).await.is_ok()
}

fn main() {
    let _ = call;
}
