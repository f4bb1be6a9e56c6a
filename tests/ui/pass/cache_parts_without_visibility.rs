//! The twin of `fail/cache_parts_without_visibility.rs`: one line differs.

use tenancy_cache::ResponseParts;
use tenancy_core::Visibility;
use tenancy_core::chat::ChatRequest;

fn parts(chat: ChatRequest, endpoint: String, inputs: Vec<Vec<u8>>, visibility: Visibility) -> ResponseParts {
    let _ = visibility;
    ResponseParts { chat, endpoint, inputs, visibility }
}

fn main() {
    let _ = parts;
}
