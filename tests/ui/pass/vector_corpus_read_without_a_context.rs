//! The twin of `fail/vector_corpus_read_without_a_context.rs`: one line differs.

use tenancy_vector::*;

type Handle = SharedCorpus;

async fn call(handle: &Handle, query: &VectorQuery) -> bool {
    handle.query(query).await.is_ok()
}

fn main() {
    let _ = call;
}
