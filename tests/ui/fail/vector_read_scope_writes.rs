//! A vector back end that is asked to read can not write to the one that it wraps.

use tenancy_vector::{BackendError, VectorBackend, VectorScope, WriteRequest, WriteScope};

async fn pass_on(
    wrapped: &dyn VectorBackend,
    scope: &VectorScope<'_>,
    request: WriteRequest,
) -> Result<(), BackendError> {
    wrapped.write(scope, request).await
}

fn main() {
    let _ = (pass_on, None::<&VectorScope<'_>>, None::<&WriteScope<'_>>);
}
