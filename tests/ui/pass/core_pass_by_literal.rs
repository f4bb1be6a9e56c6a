//! The twin of `fail/core_pass_by_literal.rs`: one line differs.

use tenancy_core::Pass;

fn forge(other: Pass) -> Pass {
    other
}

fn main() {
    let _ = forge;
}
