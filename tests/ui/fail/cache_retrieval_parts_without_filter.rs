//! What a search found is not kept without its filter.

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
    RetrievalParts { query, strategy, limit, model, corpora, visibility }
}

fn main() {
    let _ = parts;
}
