//! An answer is not kept without saying who inside the tenant may see it.

use tenancy_cache::ResponseParts;
use tenancy_core::Visibility;
use tenancy_core::chat::ChatRequest;

fn parts(chat: ChatRequest, endpoint: String, inputs: Vec<Vec<u8>>, visibility: Visibility) -> ResponseParts {
    let _ = visibility;
    ResponseParts { chat, endpoint, inputs }
}

fn main() {
    let _ = parts;
}
