//! An answer is not kept without saying who inside the tenant may see it.

use tenancy_cache::ResponseParts;
use tenancy_core::{Corpus, Visibility};
use tenancy_core::chat::ChatRequest;

fn parts(chat: ChatRequest, endpoint: String, inputs: Vec<Vec<u8>>, corpora: Vec<Corpus>, visibility: Visibility) -> ResponseParts {
    let _ = visibility;
    ResponseParts { chat, endpoint, inputs, corpora }
}

fn main() {
    let _ = parts;
}
