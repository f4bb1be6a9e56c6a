//! A point that was found is not built as a struct literal.

use tenancy_vector::FoundPoint;

fn forge(other: FoundPoint) -> FoundPoint {
    FoundPoint { ..other }
}

fn main() {
    let _ = forge;
}
