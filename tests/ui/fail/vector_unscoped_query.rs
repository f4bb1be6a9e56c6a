//! A vector store has no data method before it is scoped.

use tenancy_vector::VectorQuery;

type Handle = tenancy_vector::VectorStore;

async fn search(handle: &Handle, query: &VectorQuery) -> bool {
    handle.query(query).await.is_ok()
}

fn main() {
    let _ = search;
}
