//! The twin of `fail/core_lookup_made.rs`: one line differs.

use tenancy_core::{Lookup, LookupBy};

fn forge<'a>(by: LookupBy<'a>, other: Lookup<'a>) -> Lookup<'a> {
    let _ = (by, other);
    other
}

fn main() {
    let _ = forge;
}
