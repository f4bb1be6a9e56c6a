//! The twin of `fail/vector_query_by_literal.rs`: one line differs.

use tenancy_vector::VectorQuery;

fn forge(other: VectorQuery) -> VectorQuery {
    other
}

fn main() {
    let _ = forge;
}
