//! An answer is not kept without saying which engine gave it.

use tenancy_cache::ResponseParts;
use tenancy_core::Visibility;
use tenancy_core::chat::ChatRequest;

fn parts(chat: ChatRequest, endpoint: String, inputs: Vec<Vec<u8>>, visibility: Visibility) -> ResponseParts {
    let _ = &endpoint;
    ResponseParts { chat, inputs, visibility }
}

fn main() {
    let _ = parts;
}
