//! The store of all tenants, which can do nothing but scope.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use tenancy_core::{
    Denial, EraseError, Eraser, ErasureScope, Gate, Realm, RealmTag, Region, StoreName, StoreVerdict, TenantContext,
};

use crate::backend::VectorBackend;
use crate::error::VectorError;
use crate::points::{Owner, Points};
use crate::schema::Schema;
use crate::scope::{DropScope, Partition};
use crate::tenant::TenantVectors;

/// The vectors of all tenants of a realm. Cheap to clone.
///
/// It has no method that reads or writes a point. [`scoped`](Self::scoped) gives the handle of one tenant.
#[derive(Clone)]
pub struct VectorStore {
    gate: Gate,
    realm: RealmTag,
    engine: Arc<Engine>,
}

/// What the handles of all tenants share.
pub(crate) struct Engine {
    pub(crate) backend: Box<dyn VectorBackend>,
    pub(crate) schema: Schema,
    /// Whether answers are made from what is in it.
    pub(crate) is_corpus: bool,
}

impl VectorStore {
    /// A store on a back end that nobody else has.
    #[must_use]
    pub fn new(realm: &Realm, backend: impl VectorBackend, schema: Schema) -> Self {
        Self::of(Gate::new(realm, STORE), realm.tag(), Engine { backend: Box::new(backend), schema, is_corpus: true })
    }

    /// A store of what no answer is made from, such as questions that were answered, under a name of its own and on a back
    /// end that nobody else has. Its writes change no version of the tenant's documents, so caches live on; documents in it
    /// would be answered from caches as they were.
    #[must_use]
    pub fn aside(realm: &Realm, name: StoreName, backend: impl VectorBackend, schema: Schema) -> Self {
        Self::of(Gate::new(realm, name), realm.tag(), Engine { backend: Box::new(backend), schema, is_corpus: false })
    }

    fn of(gate: Gate, realm: RealmTag, engine: Engine) -> Self {
        Self { gate, realm, engine: Arc::new(engine) }
    }

    /// Says that the back end stands in another region than the realm's own.
    #[must_use]
    pub fn in_region(mut self, region: Region) -> Self {
        self.gate = self.gate.in_region(region);
        self
    }

    /// Makes what all tenants share in the back end, such as a collection and its indexes, where it is not there, and
    /// looks whether what is there was made for this schema. To be called before serving. Dropped, it may have made a
    /// part; called again, it goes on.
    ///
    /// # Errors
    /// [`VectorError::Unfit`], [`VectorError::Backend`].
    pub async fn prepare(&self) -> Result<(), VectorError> {
        Ok(self.engine.backend.prepare(&self.engine.schema).await?)
    }

    /// The handle of one tenant: owned, cheap to clone, `'static`.
    ///
    /// # Errors
    /// [`VectorError::Denied`]: as [`Gate::scoped`], recorded.
    pub fn scoped(&self, context: &TenantContext) -> Result<TenantVectors, VectorError> {
        let pass = self.gate.scoped(context)?;
        let points = Points::new(&self.engine, Owner::Tenant(context.clone()));
        Ok(TenantVectors::new(pass, points))
    }

    fn partition(&self, scope: &ErasureScope<'_>) -> Result<Partition, EraseError> {
        if scope.realm() != self.realm {
            return Err(EraseError::told(Denial::ForeignRealm));
        }
        Ok(Partition::new(self.realm, scope.life()))
    }
}

/// Drops the partition of the life. What is under way in it is waited for; a write that comes later is refused by the
/// fence, and by the back end if it had passed the fence before.
#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Eraser for VectorStore {
    fn store(&self) -> StoreName {
        self.gate.store()
    }

    async fn erase(&self, scope: ErasureScope<'_>) -> Result<(), EraseError> {
        let partition = self.partition(&scope)?;
        let dropped = self.engine.backend.drop_partition(&DropScope::of_erasure(&scope, &partition)).await;
        dropped.map_err(EraseError::told)
    }

    async fn verify(&self, scope: ErasureScope<'_>) -> Result<StoreVerdict, EraseError> {
        let partition = self.partition(&scope)?;
        let verdict = self.engine.backend.verify_dropped(&DropScope::of_erasure(&scope, &partition)).await;
        verdict.map_err(EraseError::told)
    }
}

impl fmt::Debug for VectorStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VectorStore").field("schema", &self.engine.schema).finish_non_exhaustive()
    }
}

/// The name under which placements name cells of this store, and audit records the store.
pub const STORE: StoreName = StoreName::new("vectors");
