//! A tenant's own points are not taken for a shared corpus.

use tenancy_vector::*;

type Handle = VectorStore;

async fn call(mine: &TenantVectors, other: &Handle, query: &VectorQuery) -> bool {
    mine.query_with(query, &[(other, query)], &Fusion::ranks()).await.is_ok()
}

fn main() {
    let _ = call;
}
