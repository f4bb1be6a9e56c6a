//! The twin of `fail/vector_own_points_for_shared.rs`: one line differs.

use tenancy_vector::*;

type Handle = SharedVectors;

async fn call(mine: &TenantVectors, other: &Handle, query: &VectorQuery) -> bool {
    mine.query_with(query, &[(other, query)], &Fusion::ranks()).await.is_ok()
}

fn main() {
    let _ = call;
}
