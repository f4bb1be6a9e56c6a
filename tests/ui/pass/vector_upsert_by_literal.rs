//! The twin of `fail/vector_upsert_by_literal.rs`: one line differs.

use tenancy_vector::UpsertRequest;

fn forge(other: UpsertRequest) -> UpsertRequest {
    other
}

fn main() {
    let _ = forge;
}
