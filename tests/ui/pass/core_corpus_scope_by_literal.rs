//! The twin of `fail/core_corpus_scope_by_literal.rs`: one line differs.

use tenancy_core::CorpusScope;

fn forge(other: CorpusScope<'_>) -> CorpusScope<'_> {
    other
}

fn main() {
    let _ = forge;
}
