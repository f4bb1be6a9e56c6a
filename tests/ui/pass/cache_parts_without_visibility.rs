//! The twin of `fail/cache_parts_without_visibility.rs`: one line differs.

use tenancy_cache::ResponseParts;
use tenancy_core::{Corpus, Visibility};
use tenancy_core::chat::ChatRequest;

fn parts(chat: ChatRequest, endpoint: String, inputs: Vec<Vec<u8>>, corpora: Vec<Corpus>, visibility: Visibility) -> ResponseParts {
    let _ = visibility;
    ResponseParts { chat, endpoint, inputs, corpora, visibility }
}

fn main() {
    let _ = parts;
}
