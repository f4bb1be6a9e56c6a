//! The twin of `fail/core_verified_by_literal.rs`: one line differs.

use tenancy_core::Verified;

fn forge(other: Verified) -> Verified {
    other
}

fn main() {
    let _ = forge;
}
