//! The twin of `fail/vector_page_by_literal.rs`: one line differs.

use tenancy_vector::Page;

fn forge(other: Page) -> Page {
    other
}

fn main() {
    let _ = forge;
}
