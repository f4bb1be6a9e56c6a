//! That a database was inspected is not said by hand.

use tenancy_pg::Inspected;

fn forge(other: Inspected) -> Inspected {
    Inspected { ..other }
}

fn main() {
    let _ = forge;
}
