//! The twin of `fail/vector_search_by_literal.rs`: one line differs.

use tenancy_vector::Search;

fn forge(other: Search) -> Search {
    other
}

fn main() {
    let _ = forge;
}
