//! What a handler can fail with, and what the caller sees of it.

use axum::response::{IntoResponse, Response};
use tenancy_stack::core::{Face, web};
use tenancy_stack::{Denial, Error};

use crate::http::UpstreamError;

/// A request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// In a store, or refused.
    #[error(transparent)]
    Store(#[from] Error),
    /// Upstream.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// The request is wrong in itself.
    #[error("{0}")]
    Invalid(&'static str),
}

macro_rules! from_store {
    ($($source:ty),*) => {$(
        impl From<$source> for ServiceError {
            fn from(error: $source) -> Self {
                Self::Store(error.into())
            }
        }
    )*};
}

from_store!(
    Denial,
    sqlx::Error,
    tenancy_stack::pg::PgError,
    tenancy_stack::vector::VectorError,
    tenancy_stack::cache::CacheError,
    tenancy_stack::tools::ToolsError
);

impl IntoResponse for ServiceError {
    fn into_response(self) -> Response {
        let face = match (Denial::of(&self), &self) {
            (Some(denial), _) => denial.face(),
            (None, Self::Invalid(_)) => Face::Invalid,
            (None, Self::Store(Error::Tools(error))) => error.face(),
            (None, _) => Face::Unavailable,
        };
        web::answer(face)
    }
}
