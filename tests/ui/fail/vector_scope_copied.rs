//! A vector back end does not copy the scope it is called with.

use tenancy_vector::VectorScope;

fn copy(scope: VectorScope<'_>) -> VectorScope<'_> {
    scope.clone()
}

fn main() {
    let _ = copy;
}
