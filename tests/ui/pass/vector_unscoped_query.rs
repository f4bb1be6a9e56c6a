//! The twin of `fail/vector_unscoped_query.rs`: one line differs.

use tenancy_vector::VectorQuery;

type Handle = tenancy_vector::TenantVectors;

async fn search(handle: &Handle, query: &VectorQuery) -> bool {
    handle.query(query).await.is_ok()
}

fn main() {
    let _ = search;
}
