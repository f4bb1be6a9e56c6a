//! What can go wrong, and why a cache stands aside.

use tenancy_core::{BoxError, Denial, Reason, Tellable};

use crate::canonical::JsonError;

/// Why a call to a cache failed. A back end that does not answer is not among them where something is read: that is
/// [`Lookup::Bypass`](crate::Lookup::Bypass).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The context may not be used, or not here. On record.
    #[error("{0}")]
    Denied(#[from] Denial),
    /// There is no key at the moment: go on without the cache.
    #[error("the cache stands aside: {0}")]
    Bypassed(#[from] Bypass),
    /// An entry could not be removed. What it belongs to is bypassed until a retry succeeds.
    #[error("the cache entry could not be removed")]
    Invalidate(#[source] BackendError),
    /// The value has no JSON form.
    #[error("the value has no JSON form")]
    Value,
    /// The chat does not end with a user's message, so there is no question to compare by meaning.
    #[error("the chat does not end with a question")]
    NoQuestion,
    /// A cosine is no bound: 0 or less, more than 1, or no number.
    #[error("a similarity is more than 0 and at most 1")]
    Similarity,
    /// Not a vector of the model: its dimension is another, or it has a number that is none, or nothing but zeros.
    #[error("the vector is not one of the model's")]
    Vector,
    /// The store of questions can't be used.
    #[error("the store of questions can't be used: {0}")]
    Questions(#[source] Reason),
    /// The arguments have no canonical form: call the tool without the cache.
    #[error(transparent)]
    Json(#[from] JsonError),
}

/// Why a cache stands aside. The caller goes on as if there were none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Bypass {
    /// A document of the tenant is being written.
    #[error("a document is being written")]
    CorpusWrite,
    /// The version of the tenant's documents can't be read.
    #[error("the corpus version is unknown")]
    CorpusUnknown,
    /// The back end failed or did not answer in time.
    #[error("the back end does not answer")]
    Backend,
    /// An entry of this layer and life should be gone and is not known to be.
    #[error("an invalidation is owed")]
    InvalidationOwed,
    /// The value is larger than the layer takes.
    #[error("the value is too large")]
    TooLarge,
    /// Entries were invalidated after this place was reserved, so what is to be put may be older than that.
    #[error("invalidated in the meantime")]
    Invalidated,
}

/// A back end failed. A driver's own text is kept for the operator and not printed.
#[derive(Debug, thiserror::Error)]
#[error("the cache back end failed: {0}")]
pub struct BackendError(#[source] Reason);

impl Tellable for BackendError {}

impl BackendError {
    /// Wraps a driver's error, whose text is withheld.
    pub fn new(error: impl Into<BoxError>) -> Self {
        Self(Reason::foreign(error))
    }

    /// Wraps an error whose text may be told.
    pub fn told(error: impl Tellable) -> Self {
        Self(Reason::told(error))
    }
}

#[cfg(feature = "redis")]
impl From<crate::redis::RedisError> for BackendError {
    fn from(error: crate::redis::RedisError) -> Self {
        Self::told(error)
    }
}

#[cfg(feature = "semantic")]
impl From<tenancy_vector::VectorError> for CacheError {
    fn from(error: tenancy_vector::VectorError) -> Self {
        use tenancy_vector::VectorError;

        match error {
            // About the store, not about who asks.
            VectorError::Denied(Denial::BreakerOpen | Denial::StoreBreach) => Bypass::Backend.into(),
            VectorError::Denied(denial) => denial.into(),
            other => Self::Questions(Reason::told(other)),
        }
    }
}
