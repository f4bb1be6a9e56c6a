//! The twin of `fail/cache_retrieval_parts_without_filter.rs`: one line differs.

use tenancy_cache::RetrievalParts;
use tenancy_core::{Corpus, Visibility};
use tenancy_core::chat::ModelIdentity;

fn parts(
    query: String,
    filter: Vec<u8>,
    strategy: String,
    limit: u32,
    model: ModelIdentity,
    corpora: Vec<Corpus>,
    visibility: Visibility,
) -> RetrievalParts {
    let _ = &filter;
    RetrievalParts { query, filter, strategy, limit, model, corpora, visibility }
}

fn main() {
    let _ = parts;
}
