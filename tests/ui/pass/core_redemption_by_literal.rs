//! The twin of `fail/core_redemption_by_literal.rs`: one line differs.

use tenancy_core::Redemption;

fn forge(other: Redemption<'_>) -> Redemption<'_> {
    other
}

fn main() {
    let _ = forge;
}
