//! The twin of `fail/cache_engine_body_without_salt.rs`: one line differs.

use tenancy_cache::EngineSalt;
use tenancy_cache::engine::EngineBody;
use tenancy_core::chat::ChatRequest;

fn sendable(chat: &ChatRequest, salt: &EngineSalt) -> bool {
    let _ = salt;
    EngineBody::new(chat, salt).is_ok()
}

fn main() {
    let _ = sendable;
}
