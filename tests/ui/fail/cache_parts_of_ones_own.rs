//! The list of parts is closed: a user does not implement the trait.

use tenancy_cache::Layer;
use tenancy_core::{Corpus, Visibility};

trait Ours {
    const LAYER: Layer;

    fn visibility(&self) -> Visibility;
    fn corpora(&self) -> &[Corpus];
}

struct Mine;

impl tenancy_cache::KeyParts for Mine {
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
