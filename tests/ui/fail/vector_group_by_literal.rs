//! A group of hits, which are checked to be the tenant's, is not built as a struct literal.

use tenancy_vector::HitGroup;

fn forge(other: HitGroup) -> HitGroup {
    HitGroup { ..other }
}

fn main() {
    let _ = forge;
}
