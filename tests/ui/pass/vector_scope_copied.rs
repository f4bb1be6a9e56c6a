//! The twin of `fail/vector_scope_copied.rs`: one line differs.

use tenancy_vector::VectorScope;

fn copy(scope: VectorScope<'_>) -> VectorScope<'_> {
    scope
}

fn main() {
    let _ = copy;
}
