//! What a back end is to write is not built as a struct literal.

use tenancy_vector::WriteRequest;

fn forge(other: WriteRequest) -> WriteRequest {
    WriteRequest { ..other }
}

fn main() {
    let _ = forge;
}
