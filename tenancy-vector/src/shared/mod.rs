//! A corpus that every tenant may read, and none may write.

mod together;
mod writer;

use std::fmt;
use std::sync::Arc;

use tenancy_core::{Corpus, CorpusName, CrossTenantGrant, Gate, Realm, Region, StoreName, TenantContext};

pub use writer::CorpusWriter;

use crate::backend::VectorBackend;
use crate::error::VectorError;
use crate::marker::Shared;
use crate::points::{Owner, Points};
use crate::schema::Schema;
use crate::store::Engine;
use crate::tenant::Vectors;

/// The vectors of a shared corpus. Cheap to clone.
///
/// It has no method that reads or writes a point: [`scoped`](Self::scoped) gives a tenant's handle to read it, and
/// [`publish`](Self::publish) an operator's to write it.
#[derive(Clone)]
pub struct SharedVectors {
    gate: Gate,
    corpus: Corpus,
    engine: Arc<Engine>,
}

/// A shared corpus as one tenant reads it. Made by [`SharedVectors::scoped`] only; it has no method that writes.
///
/// Whoever is suspended or erased reads it no longer. Every hit says that it is shared: [`Hit::origin`](crate::Hit::origin).
pub type SharedCorpus = Vectors<Shared>;

impl SharedVectors {
    /// The corpus of a name on a back end that nobody else has: a collection or a folder of its own. Or on
    /// one that keeps each owner's points apart, as those of this crate do. On Postgres corpora have tables and a back end
    /// of their own, `pgvector::PgCorpusBackend`; the tenants' one refuses them.
    #[must_use]
    pub fn new(realm: &Realm, corpus: &CorpusName, backend: impl VectorBackend, schema: Schema) -> Self {
        let engine = Arc::new(Engine { backend: Box::new(backend), schema, is_corpus: true });
        Self { gate: Gate::new(realm, SHARED_STORE), corpus: realm.corpus(corpus), engine }
    }

    /// Says that the back end stands in another region than the realm's own. Tenants of other regions don't read it:
    /// give each region a copy.
    #[must_use]
    pub fn in_region(mut self, region: Region) -> Self {
        self.gate = self.gate.in_region(region);
        self
    }

    /// The corpus, for the keys of whatever is kept of answers that took from it.
    #[must_use]
    pub const fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// As [`VectorStore::prepare`](crate::VectorStore::prepare).
    ///
    /// # Errors
    /// [`VectorError::Unfit`], [`VectorError::Backend`].
    pub async fn prepare(&self) -> Result<(), VectorError> {
        Ok(self.engine.backend.prepare(&self.engine.schema).await?)
    }

    /// The handle with which one tenant reads the corpus: owned, cheap to clone, `'static`.
    ///
    /// # Errors
    /// [`VectorError::Denied`]: as [`Gate::scoped`], recorded.
    pub fn scoped(&self, context: &TenantContext) -> Result<SharedCorpus, VectorError> {
        Ok(SharedCorpus::new(self.gate.scoped(context)?, self.points()))
    }

    /// The handle with which an operator writes the corpus, for as many changes as the grant lives.
    ///
    /// # Cross-tenant access
    /// What is written is read by every tenant of the realm. The grant has to be opened for this corpus
    /// ([`Reach::Corpus`](tenancy_core::Reach::Corpus)); its use is durable in the operators' chain before this returns,
    /// and every tenant lists it, as it lists each change.
    ///
    /// # Errors
    /// [`VectorError::Denied`]: as [`CrossTenantGrant::publish`], recorded. Dropped: recorded as `cancelled`, or the use may
    /// be on record without having happened.
    pub async fn publish<'g>(&self, grant: &'g CrossTenantGrant) -> Result<CorpusWriter<'g>, VectorError> {
        let publication = grant.publish(&self.gate, &self.corpus, "corpus.publish").await?;
        Ok(CorpusWriter::new(publication, self.points()))
    }

    fn points(&self) -> Points {
        Points::new(&self.engine, Owner::Shared(self.corpus.clone()))
    }
}

impl fmt::Debug for SharedVectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedVectors").field("corpus", &self.corpus).finish_non_exhaustive()
    }
}

/// The name under which placements name cells of shared corpora, and audit records the store.
pub const SHARED_STORE: StoreName = StoreName::new("corpora");
