//! The twin of `fail/cache_similarity_not_less.rs`: one line differs.

use tenancy_cache::semantic::{Similarity, TenantSemantic};

fn f(mine: TenantSemantic<String>, least: Similarity) -> TenantSemantic<String> {
    let _ = least;
    mine.at_least(least)
}

fn main() {
    let _ = f;
}
