//! A pass through a store's gate is not built as a struct literal.

use tenancy_core::Pass;

fn forge(other: Pass) -> Pass {
    Pass { ..other }
}

fn main() {
    let _ = forge;
}
