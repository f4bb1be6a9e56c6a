//! A search within a query is not built as a struct literal, past its checks.

use tenancy_vector::Search;

fn forge(other: Search) -> Search {
    Search { ..other }
}

fn main() {
    let _ = forge;
}
