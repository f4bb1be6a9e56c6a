//! The twin of `fail/vector_candidates_made.rs`: one line differs.

use tenancy_vector::{Candidates, Hit};

fn forge<'a>(other: Candidates<'a>, hits: &'a [Hit]) -> Candidates<'a> {
    other
}

fn main() {
    let _ = forge;
}
