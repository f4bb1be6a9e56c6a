//! The twin of `fail/cache_response_parts_without_endpoint.rs`: one line differs.

use tenancy_cache::ResponseParts;
use tenancy_core::Visibility;
use tenancy_core::chat::ChatRequest;

fn parts(chat: ChatRequest, endpoint: String, inputs: Vec<Vec<u8>>, visibility: Visibility) -> ResponseParts {
    let _ = &endpoint;
    ResponseParts { chat, endpoint, inputs, visibility }
}

fn main() {
    let _ = parts;
}
