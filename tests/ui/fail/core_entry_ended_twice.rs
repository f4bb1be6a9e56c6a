//! An entry ends once: a denied call is not recorded as one that went through.

use tenancy_core::{Denial, Entered};

fn end(entered: Entered<'_>) -> Denial {
    let denial = entered.deny(Denial::NotVisible);
    entered.done();
    denial
}

fn main() {
    let _ = end;
}
