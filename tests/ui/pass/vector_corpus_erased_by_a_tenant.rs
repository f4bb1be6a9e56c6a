//! The twin of `fail/vector_corpus_erased_by_a_tenant.rs`: one line differs.

use tenancy_vector::*;

type Handle = CorpusWriter<'static>;

async fn call(handle: &Handle) -> bool {
    handle.erase().await.is_ok()
}

fn main() {
    let _ = call;
}
