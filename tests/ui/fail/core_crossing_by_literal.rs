//! A use of a grant, which is on record, is not built as a struct literal.

use tenancy_core::Crossing;

fn forge(other: Crossing<'_>) -> Crossing<'_> {
    Crossing { ..other }
}

fn main() {
    let _ = forge;
}
