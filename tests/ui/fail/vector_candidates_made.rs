//! What a re-ranker is given, hits that were checked, is not put together by a user.

use tenancy_vector::Candidates;

fn forge(other: Candidates<'_>) -> Candidates<'_> {
    Candidates { ..other }
}

fn main() {
    let _ = forge;
}
