//! The twin of `fail/vector_unscoped_count.rs`: one line differs.

use tenancy_vector::*;

type Handle = TenantVectors;

async fn call(handle: &Handle) -> bool {
    handle.count(None).await.is_ok()
}

fn main() {
    let _ = call;
}
