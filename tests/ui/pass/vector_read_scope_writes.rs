//! The twin of `fail/vector_read_scope_writes.rs`: one line differs.

use tenancy_vector::{BackendError, VectorBackend, VectorScope, WriteRequest, WriteScope};

async fn pass_on(
    wrapped: &dyn VectorBackend,
    scope: &WriteScope<'_>,
    request: WriteRequest,
) -> Result<(), BackendError> {
    wrapped.write(scope, request).await
}

fn main() {
    let _ = (pass_on, None::<&VectorScope<'_>>, None::<&WriteScope<'_>>);
}
