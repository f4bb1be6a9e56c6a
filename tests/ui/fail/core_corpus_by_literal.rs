//! A shared corpus is not built as a struct literal.

use tenancy_core::Corpus;

fn forge(other: Corpus) -> Corpus {
    Corpus { ..other }
}

fn main() {
    let _ = forge;
}
