//! The twin of `fail/cache_response_parts_without_endpoint.rs`: one line differs.

use tenancy_cache::ResponseParts;
use tenancy_core::{Corpus, Visibility};
use tenancy_core::chat::ChatRequest;

fn parts(chat: ChatRequest, endpoint: String, inputs: Vec<Vec<u8>>, corpora: Vec<Corpus>, visibility: Visibility) -> ResponseParts {
    let _ = &endpoint;
    ResponseParts { chat, endpoint, inputs, corpora, visibility }
}

fn main() {
    let _ = parts;
}
