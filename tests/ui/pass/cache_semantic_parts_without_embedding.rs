//! The twin of `fail/cache_semantic_parts_without_embedding.rs`: one line differs.

use tenancy_cache::SemanticParts;
use tenancy_core::{Corpus, Visibility};
use tenancy_core::chat::{ChatRequest, ModelIdentity};

fn parts(
    chat: ChatRequest,
    endpoint: String,
    embedding: ModelIdentity,
    dimensions: u32,
    instruction: Option<String>,
    corpora: Vec<Corpus>,
    visibility: Visibility,
) -> SemanticParts {
    let inputs = Vec::new();
    let _ = &embedding;
    SemanticParts { chat, endpoint, inputs, embedding, dimensions, instruction, corpora, visibility }
}

fn main() {
    let _ = parts;
}
