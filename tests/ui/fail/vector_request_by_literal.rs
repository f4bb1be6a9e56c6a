//! What a back end is asked is not built as a struct literal.

use tenancy_vector::QueryRequest;

fn forge(other: QueryRequest) -> QueryRequest {
    QueryRequest { ..other }
}

fn main() {
    let _ = forge;
}
