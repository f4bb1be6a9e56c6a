//! The twin of `fail/cache_parts_of_ones_own.rs`: one line differs.

use tenancy_cache::Layer;
use tenancy_core::{Corpus, Visibility};

trait Ours {
    const LAYER: Layer;

    fn visibility(&self) -> Visibility;
    fn corpora(&self) -> &[Corpus];
}

struct Mine;

impl Ours for Mine {
    const LAYER: Layer = Layer::Response;

    fn visibility(&self) -> Visibility {
        Visibility::Tenant
    }

    fn corpora(&self) -> &[Corpus] {
        &[]
    }
}

fn main() {
    let _ = Mine;
}
