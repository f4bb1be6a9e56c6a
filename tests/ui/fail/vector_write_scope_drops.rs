//! A vector back end that is asked to write can not drop a life of the one that it wraps.

use tenancy_vector::{BackendError, DropScope, VectorBackend, WriteScope};

async fn pass_on(wrapped: &dyn VectorBackend, scope: &WriteScope<'_>) -> Result<(), BackendError> {
    wrapped.drop_partition(scope).await
}

fn main() {
    let _ = (pass_on, None::<&DropScope<'_>>, None::<&WriteScope<'_>>);
}
