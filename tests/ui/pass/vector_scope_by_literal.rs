//! The twin of `fail/vector_scope_by_literal.rs`: one line differs.

use tenancy_vector::VectorScope;

fn forge(other: VectorScope<'_>) -> VectorScope<'_> {
    other
}

fn main() {
    let _ = forge;
}
