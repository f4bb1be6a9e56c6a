//! The scope a store of corpus versions is called with is made by the core alone.

use tenancy_core::CorpusScope;

fn forge(other: CorpusScope<'_>) -> CorpusScope<'_> {
    CorpusScope { ..other }
}

fn main() {
    let _ = forge;
}
