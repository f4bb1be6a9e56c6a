//! axum: the context as an extractor, and a denial as a response.

use axum_core::body::Body;
use axum_core::extract::FromRequestParts;
use axum_core::response::{IntoResponse, Response};
use http::request::Parts;

use super::layer::{EdgeBody, answer};
use crate::context::TenantContext;
use crate::denial::Denial;

impl EdgeBody for Body {
    fn of_text(text: &'static str) -> Self {
        Self::from(text)
    }
}

/// Takes the context that [`AuthLayer`](super::AuthLayer) put there. Without the layer there is none, and the request is
/// answered with 401: a router that forgot its layer serves nobody.
impl<S: Sync> FromRequestParts<S> for TenantContext {
    type Rejection = Denial;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Denial> {
        parts.extensions.get::<Self>().cloned().ok_or(Denial::CredentialMissing)
    }
}

impl IntoResponse for Denial {
    fn into_response(self) -> Response {
        answer(self.face())
    }
}
