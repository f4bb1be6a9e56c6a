//! A page of points, which are checked to be the tenant's, is not built as a struct literal.

use tenancy_vector::Page;

fn forge(other: Page) -> Page {
    Page { ..other }
}

fn main() {
    let _ = forge;
}
