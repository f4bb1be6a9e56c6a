//! Parts have no default: each of them is said.

type Parts = tenancy_cache::ResponseParts;

fn main() {
    let _parts: Parts = Default::default();
}
