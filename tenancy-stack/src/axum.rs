//! axum: the tenant's stores as an extractor, and the error as a response.

use axum_core::extract::{FromRef, FromRequestParts};
use axum_core::response::{IntoResponse, Response};
use http::request::Parts;
use tenancy_core::TenantContext;

use crate::{Error, Stores, TenantStores};

/// Takes the context that [`AuthLayer`](tenancy_core::web::AuthLayer) put there and scopes the stores of the router's
/// state to it.
impl<S> FromRequestParts<S> for TenantStores
where
    S: Send + Sync,
    Stores: FromRef<S>,
{
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let context = TenantContext::from_request_parts(parts, state).await?;
        Stores::from_ref(state).scoped(&context)
    }
}

/// The answer of the error's face. A foreign id and one that never existed look the same.
impl IntoResponse for Error {
    fn into_response(self) -> Response {
        tenancy_core::web::answer(self.face())
    }
}
