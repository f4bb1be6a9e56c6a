//! What a request carries, taken out. axum's own answers to what it can't take quote it, a password in the wrong field
//! say; these answer with the service's one face for a wrong request.

use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::ServiceError;

/// The body, as `E` takes it.
pub(crate) struct Body<E>(pub(crate) E);

impl<S: Send + Sync, E: FromRequest<S>> FromRequest<S> for Body<E> {
    type Rejection = ServiceError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ServiceError> {
        E::from_request(request, state).await.map(Self).map_err(|_| ServiceError::Invalid("not the body expected"))
    }
}

/// What the path names, decoded.
pub(crate) struct Named<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Named<T> {
    type Rejection = ServiceError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ServiceError> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        path.map(|Path(named)| Self(named)).map_err(|_| ServiceError::Invalid("not the path expected"))
    }
}
