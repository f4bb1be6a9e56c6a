//! A vector back end is called by a scoped handle alone: its scope is not built elsewhere.

use tenancy_vector::VectorScope;

fn forge(other: VectorScope<'_>) -> VectorScope<'_> {
    VectorScope { ..other }
}

fn main() {
    let _ = forge;
}
