//! The twin of `fail/core_corpus_by_literal.rs`: one line differs.

use tenancy_core::Corpus;

fn forge(other: Corpus) -> Corpus {
    other
}

fn main() {
    let _ = forge;
}
