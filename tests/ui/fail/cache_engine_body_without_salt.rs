//! A request is not sent to an engine without a salt.

use tenancy_cache::EngineSalt;
use tenancy_cache::engine::EngineBody;
use tenancy_core::chat::ChatRequest;

fn sendable(chat: &ChatRequest, salt: &EngineSalt) -> bool {
    let _ = salt;
    EngineBody::new(chat, None).is_ok()
}

fn main() {
    let _ = sendable;
}
