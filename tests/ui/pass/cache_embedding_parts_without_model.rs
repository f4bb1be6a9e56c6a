//! The twin of `fail/cache_embedding_parts_without_model.rs`: one line differs.

use tenancy_cache::EmbeddingParts;
use tenancy_core::Visibility;
use tenancy_core::chat::ModelIdentity;

fn parts(
    text: String,
    model: ModelIdentity,
    dimensions: u32,
    instruction: Option<String>,
    visibility: Visibility,
) -> EmbeddingParts {
    let _ = &model;
    EmbeddingParts { text, model, dimensions, instruction, visibility }
}

fn main() {
    let _ = parts;
}
