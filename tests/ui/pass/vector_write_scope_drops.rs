//! The twin of `fail/vector_write_scope_drops.rs`: one line differs.

use tenancy_vector::{BackendError, DropScope, VectorBackend, WriteScope};

async fn pass_on(wrapped: &dyn VectorBackend, scope: &DropScope<'_>) -> Result<(), BackendError> {
    wrapped.drop_partition(scope).await
}

fn main() {
    let _ = (pass_on, None::<&DropScope<'_>>, None::<&WriteScope<'_>>);
}
