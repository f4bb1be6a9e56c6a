//! A shared corpus is not opened for writing with a tenant's context.

use tenancy_vector::*;

type Authority = tenancy_core::TenantContext;

async fn call(corpus: &SharedVectors, authority: &Authority) -> bool {
    corpus.publish(authority).await.is_ok()
}

fn main() {
    let _ = call;
}
