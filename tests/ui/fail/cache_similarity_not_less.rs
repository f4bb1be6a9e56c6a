//! A handle of a semantic cache takes no bare number for a likeness.

use tenancy_cache::semantic::{Similarity, TenantSemantic};

fn f(mine: TenantSemantic<String>, least: Similarity) -> TenantSemantic<String> {
    let _ = least;
    mine.at_least(0.1)
}

fn main() {
    let _ = f;
}
