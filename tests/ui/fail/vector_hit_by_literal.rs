//! A hit, which is checked to be the tenant's, is not built as a struct literal.

use tenancy_vector::Hit;

fn forge(other: Hit) -> Hit {
    Hit { ..other }
}

fn main() {
    let _ = forge;
}
