//! The twin of `fail/cache_parts_of_ones_own.rs`: one line differs.

use tenancy_cache::Layer;
use tenancy_core::Visibility;

trait Ours {
    const LAYER: Layer;

    fn visibility(&self) -> Visibility;
}

struct Mine;

impl Ours for Mine {
    const LAYER: Layer = Layer::Response;

    fn visibility(&self) -> Visibility {
        Visibility::Tenant
    }
}

fn main() {
    let _ = Mine;
}
