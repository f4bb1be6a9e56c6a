//! A moment, which is a tenant's, is not built as a struct literal.

use tenancy_cache::Moment;

fn forge(other: Moment) -> Moment {
    Moment { ..other }
}

fn main() {
    let _ = forge;
}
