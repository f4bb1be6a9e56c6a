//! What a back end is to write is not built as a struct literal.

use tenancy_vector::UpsertRequest;

fn forge(other: UpsertRequest) -> UpsertRequest {
    UpsertRequest { ..other }
}

fn main() {
    let _ = forge;
}
