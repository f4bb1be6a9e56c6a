//! The twin of `fail/vector_request_by_literal.rs`: one line differs.

use tenancy_vector::QueryRequest;

fn forge(other: QueryRequest) -> QueryRequest {
    other
}

fn main() {
    let _ = forge;
}
