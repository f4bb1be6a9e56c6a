//! The twin of `fail/vector_corpus_written_with_a_context.rs`: one line differs.

use tenancy_vector::*;

type Authority = tenancy_core::CrossTenantGrant;

async fn call(corpus: &SharedVectors, authority: &Authority) -> bool {
    corpus.publish(authority).await.is_ok()
}

fn main() {
    let _ = call;
}
