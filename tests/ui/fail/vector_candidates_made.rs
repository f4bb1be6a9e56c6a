//! What a re-ranker is given, hits that were checked, is not put together by a user.

use tenancy_vector::{Candidates, Hit};

fn forge<'a>(other: Candidates<'a>, hits: &'a [Hit]) -> Candidates<'a> {
    Candidates { hits, ..other }
}

fn main() {
    let _ = forge;
}
