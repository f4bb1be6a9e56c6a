//! The twin of `fail/vector_candidates_made.rs`: one line differs.

use tenancy_vector::Candidates;

fn forge(other: Candidates<'_>) -> Candidates<'_> {
    other
}

fn main() {
    let _ = forge;
}
