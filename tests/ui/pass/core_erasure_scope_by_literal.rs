//! The twin of `fail/core_erasure_scope_by_literal.rs`: one line differs.

use tenancy_core::ErasureScope;

fn forge(other: ErasureScope<'_>) -> ErasureScope<'_> {
    other
}

fn main() {
    let _ = forge;
}
