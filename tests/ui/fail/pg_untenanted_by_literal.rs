//! A reader of global tables is not built as a struct literal.

use tenancy_pg::Untenanted;

fn forge(other: Untenanted) -> Untenanted {
    Untenanted { ..other }
}

fn main() {
    let _ = forge;
}
