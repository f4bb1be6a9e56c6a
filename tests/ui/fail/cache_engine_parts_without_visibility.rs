//! A salt is not asked for without saying who may share prefixes.

use tenancy_cache::EngineParts;
use tenancy_core::Visibility;
use tenancy_core::chat::ModelIdentity;

fn parts(model: ModelIdentity, visibility: Visibility) -> EngineParts {
    let _ = &visibility;
    EngineParts { model }
}

fn main() {
    let _ = parts;
}
