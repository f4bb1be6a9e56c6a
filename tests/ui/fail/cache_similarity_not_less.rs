//! A handle of a semantic cache takes no number for a likeness: what loosens it is not said.

use tenancy_cache::semantic::{Similarity, TenantSemantic};

fn f(mine: TenantSemantic<String>, least: Similarity) -> TenantSemantic<String> {
    let _ = least;
    mine.at_least(0.1)
}

fn main() {
    let _ = f;
}
