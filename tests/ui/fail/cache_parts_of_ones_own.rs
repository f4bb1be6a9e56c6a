//! The list of parts is closed: a user does not implement the trait.

use tenancy_cache::Layer;
use tenancy_core::Visibility;

trait Ours {
    const LAYER: Layer;

    fn visibility(&self) -> Visibility;
}

struct Mine;

impl tenancy_cache::KeyParts for Mine {
    const LAYER: Layer = Layer::Response;

    fn visibility(&self) -> Visibility {
        Visibility::Tenant
    }
}

fn main() {
    let _ = Mine;
}
