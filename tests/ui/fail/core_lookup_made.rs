//! A directory is not asked by anybody but the realm.

use tenancy_core::{Lookup, LookupBy};

fn forge<'a>(by: LookupBy<'a>, other: Lookup<'a>) -> Lookup<'a> {
    let _ = (by, other);
    Lookup(by)
}

fn main() {
    let _ = forge;
}
