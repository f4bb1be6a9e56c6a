//! The twin of `fail/cache_engine_parts_without_visibility.rs`: one line differs.

use tenancy_cache::EngineParts;
use tenancy_core::Visibility;
use tenancy_core::chat::ModelIdentity;

fn parts(model: ModelIdentity, visibility: Visibility) -> EngineParts {
    let _ = &visibility;
    EngineParts { model, visibility }
}

fn main() {
    let _ = parts;
}
