//! The twin of `fail/cache_similarity_by_literal.rs`: one line differs.

use tenancy_cache::semantic::Similarity;

fn f() -> Similarity {
    Similarity::new(0.9).unwrap()
}

fn main() {
    let _ = f;
}
