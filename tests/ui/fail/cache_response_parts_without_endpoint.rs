//! An answer is not kept without saying which engine gave it.

use tenancy_cache::ResponseParts;
use tenancy_core::{Corpus, Visibility};
use tenancy_core::chat::ChatRequest;

fn parts(chat: ChatRequest, endpoint: String, inputs: Vec<Vec<u8>>, corpora: Vec<Corpus>, visibility: Visibility) -> ResponseParts {
    let _ = &endpoint;
    ResponseParts { chat, inputs, corpora, visibility }
}

fn main() {
    let _ = parts;
}
