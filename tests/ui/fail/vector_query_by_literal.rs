//! A query is not built as a struct literal, past its checks.

use tenancy_vector::VectorQuery;

fn forge(other: VectorQuery) -> VectorQuery {
    VectorQuery { ..other }
}

fn main() {
    let _ = forge;
}
