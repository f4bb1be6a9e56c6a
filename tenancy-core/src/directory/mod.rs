//! Who the tenants are: from a verified claim to a record, and nothing else.

mod record;
mod static_file;
mod static_memory;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
pub use record::{Isolation, Placement, Plan, ServiceClass, Standing, TenantRecord};
pub(crate) use static_file::TenantEntry;
pub use static_memory::{DirectoryConflict, StaticDirectory};

use crate::credential::{ApiKeyId, ApiKeyRecord};
use crate::id::{Life, TenantId};
use crate::redacted::{BoxError, Redacted};

/// Knows the tenants of a deployment. Implemented by users; asked by the realm only.
///
/// The realm compares what comes back with what it asked for, so a directory that ignores the issuer, say, is found out
/// and refused rather than believed.
#[async_trait]
pub trait TenantDirectory: Send + Sync + 'static {
    /// The record that the look-up names, or `None`. An erased tenant is found, with its standing, for as long as the
    /// directory remembers it.
    ///
    /// # Errors
    /// [`DirectoryError`] when the directory can't answer. The realm then denies.
    async fn find(&self, lookup: Lookup<'_>) -> Result<Option<TenantRecord>, DirectoryError>;

    /// The stored form of an API key. Unknown ids and known ones must take the same work.
    ///
    /// # Errors
    /// [`DirectoryError`] when the directory can't answer.
    async fn api_key(&self, lookup: ApiKeyLookup<'_>) -> Result<Option<ApiKeyRecord>, DirectoryError>;
}

#[async_trait]
impl<D: TenantDirectory + ?Sized> TenantDirectory for Arc<D> {
    async fn find(&self, lookup: Lookup<'_>) -> Result<Option<TenantRecord>, DirectoryError> {
        (**self).find(lookup).await
    }

    async fn api_key(&self, lookup: ApiKeyLookup<'_>) -> Result<Option<ApiKeyRecord>, DirectoryError> {
        (**self).api_key(lookup).await
    }
}

/// A question to the directory. Built by this crate only.
#[derive(Clone, Copy)]
pub struct Lookup<'a>(LookupBy<'a>);

/// What a look-up goes by.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum LookupBy<'a> {
    /// A verified claim of an issuer. Both compared by bytes.
    Claim {
        /// The issuer, as its tokens name it.
        issuer: &'a str,
        /// The claim's text.
        claim: &'a str,
    },
    /// A life.
    Life(Life),
    /// The name, for an operator who names one tenant.
    Id(&'a TenantId),
}

impl<'a> Lookup<'a> {
    pub(crate) const fn claim(issuer: &'a str, claim: &'a str) -> Self {
        Self(LookupBy::Claim { issuer, claim })
    }

    pub(crate) const fn life(life: Life) -> Self {
        Self(LookupBy::Life(life))
    }

    pub(crate) const fn id(id: &'a TenantId) -> Self {
        Self(LookupBy::Id(id))
    }

    /// What to look for.
    #[must_use]
    pub const fn by(&self) -> LookupBy<'a> {
        self.0
    }

    /// Whether a record is an answer to this question.
    pub(crate) fn is_answered_by(&self, record: &TenantRecord) -> bool {
        let is_this = match self.0 {
            LookupBy::Claim { issuer, claim } => record.is_bound_to(issuer, claim),
            LookupBy::Life(life) => record.life() == life,
            LookupBy::Id(id) => record.id() == id,
        };
        // A tenant that has the mark of a shared corpus for a life would be its owner.
        is_this && record.life().is_a_tenants()
    }
}

impl fmt::Debug for Lookup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            LookupBy::Claim { .. } => "Lookup(claim)",
            LookupBy::Life(_) => "Lookup(life)",
            LookupBy::Id(_) => "Lookup(id)",
        })
    }
}

impl fmt::Debug for LookupBy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Lookup(*self).fmt(f)
    }
}

/// A question for an API key. Built by this crate only.
#[derive(Clone, Copy, Debug)]
pub struct ApiKeyLookup<'a>(&'a ApiKeyId);

impl<'a> ApiKeyLookup<'a> {
    pub(crate) const fn new(id: &'a ApiKeyId) -> Self {
        Self(id)
    }

    /// The id to look for.
    #[must_use]
    pub const fn id(&self) -> &'a ApiKeyId {
        self.0
    }
}

/// The directory could not answer.
#[derive(Debug, thiserror::Error)]
#[error("the tenant directory is unavailable")]
pub struct DirectoryError(#[source] Redacted<BoxError>);

impl DirectoryError {
    /// Wraps a driver's error.
    pub fn new(error: impl Into<BoxError>) -> Self {
        Self(Redacted::new(error.into()))
    }
}
