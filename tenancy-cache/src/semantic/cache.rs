//! The semantic cache of all tenants, which can do nothing but scope.

use std::fmt;
use std::marker::PhantomData;

use async_trait::async_trait;
use tenancy_core::{Denial, EraseError, Eraser, ErasureScope, Realm, Region, StoreName, StoreVerdict, TenantContext};
use tenancy_vector::{VectorBackend, VectorStore};

use super::questions::{Questions, schema};
use super::similarity::Similarity;
use super::tenant::TenantSemantic;
use crate::caches::Caches;
use crate::error::CacheError;

/// The semantic cache of a realm: answers in its caches, questions in a vector store of its own. Cheap to clone. It has no
/// data method: ask it for [`scoped`](Self::scoped).
///
/// It is an [`Eraser`] of the questions; the answers are erased with the [`Caches`]. Register both.
#[derive(Clone)]
pub struct SemanticCache {
    caches: Caches,
    questions: VectorStore,
    dimensions: usize,
    least: Similarity,
}

impl SemanticCache {
    /// A semantic cache for vectors of so many dimensions, on a vector back end that nobody else has: documents' vectors
    /// beside questions would find each other. Two questions share an answer from `least` on.
    ///
    /// # Errors
    /// [`CacheError::Vector`] for no dimension, or too many.
    pub fn new(
        realm: &Realm,
        caches: &Caches,
        backend: impl VectorBackend,
        dimensions: usize,
        least: Similarity,
    ) -> Result<Self, CacheError> {
        let schema = schema(dimensions).map_err(|_| CacheError::Vector)?;
        let questions = VectorStore::aside(realm, SEMANTIC_STORE, backend, schema);
        Ok(Self { caches: caches.clone(), questions, dimensions, least })
    }

    /// Says that the vector back end stands in another region than the realm's own.
    #[must_use]
    pub fn in_region(mut self, region: Region) -> Self {
        self.questions = self.questions.in_region(region);
        self
    }

    /// Makes what the questions of all tenants share in the back end. To be called before serving. Dropped, it may have made
    /// a part; called again, it goes on.
    ///
    /// # Errors
    /// [`CacheError::Questions`].
    pub async fn prepare(&self) -> Result<(), CacheError> {
        Ok(self.questions.prepare().await?)
    }

    /// The semantic cache of one context, for answers of type `V`: owned, cheap to clone, `'static`.
    ///
    /// # Errors
    /// [`Denial::ForeignRealm`], [`Denial::WrongRegion`], or as any use of a context; recorded.
    pub fn scoped<V>(&self, context: &TenantContext) -> Result<TenantSemantic<V>, Denial> {
        let scope = self.caches.scoped(context)?.into_scope();
        let questions = self.questions.scoped(context).map_err(|error| match error {
            tenancy_vector::VectorError::Denied(denial) => denial,
            // There is no other reason; a store that can't say why is not used.
            _ => Denial::StoreBreach,
        })?;
        let questions = Questions { points: questions, dimensions: self.dimensions };
        Ok(TenantSemantic { scope, questions, least: self.least, types: PhantomData })
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Eraser for SemanticCache {
    fn store(&self) -> StoreName {
        self.questions.store()
    }

    async fn erase(&self, scope: ErasureScope<'_>) -> Result<(), EraseError> {
        self.questions.erase(scope).await
    }

    async fn verify(&self, scope: ErasureScope<'_>) -> Result<StoreVerdict, EraseError> {
        self.questions.verify(scope).await
    }
}

impl fmt::Debug for SemanticCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SemanticCache").field("least", &self.least).finish_non_exhaustive()
    }
}

/// The name under which placements name cells of the questions, and audit records them.
pub const SEMANTIC_STORE: StoreName = StoreName::new("questions");
