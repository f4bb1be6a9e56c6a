//! A verified credential is not built as a struct literal.

use tenancy_core::Verified;

fn forge(other: Verified) -> Verified {
    Verified { ..other }
}

fn main() {
    let _ = forge;
}
