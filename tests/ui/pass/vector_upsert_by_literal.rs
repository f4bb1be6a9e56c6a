//! The twin of `fail/vector_upsert_by_literal.rs`: one line differs.

use tenancy_vector::WriteRequest;

fn forge(other: WriteRequest) -> WriteRequest {
    other
}

fn main() {
    let _ = forge;
}
