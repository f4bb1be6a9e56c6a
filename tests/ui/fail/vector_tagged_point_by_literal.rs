//! A point is given its tag by a scoped handle alone.

use tenancy_vector::TaggedPoint;

fn forge(other: TaggedPoint) -> TaggedPoint {
    TaggedPoint { ..other }
}

fn main() {
    let _ = forge;
}
