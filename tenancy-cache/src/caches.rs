//! The caches of a realm and of one context.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tenancy_core::{
    BoxError, Corpus, CorpusVersion, Denial, Entered, EraseError, Eraser, ErasureScope, Gate, Pass, Realm, RealmTag,
    Region, StoreName, StoreVerdict, TenantContext,
};

use crate::backend::{CacheBackend, CacheScope, LifeTag};
use crate::error::{BackendError, Bypass, CacheError};
use crate::key::{EngineSalt, Moment, Name, Read, Versions, derive, name};
use crate::layer::Layer;
use crate::life::{LayerState, LifeState, Lives};
use crate::parts::{EmbeddingParts, EngineParts, EntryParts, ResponseParts, RetrievalParts, ToolParts};
use crate::settings::CacheSettings;
use crate::stats::{CacheStats, Counters, Outcome};
use crate::tenant_layer::TenantLayer;

/// The caches of one realm over one back end. Cheap to clone. It has no data method: ask it for
/// [`scoped`](Self::scoped).
///
/// Make one per process and back end: what it knows about removals that are owed is its own.
#[derive(Clone)]
pub struct Caches {
    gate: Gate,
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    realm: RealmTag,
    backend: Box<dyn CacheBackend>,
    pub(crate) settings: CacheSettings,
    counters: Counters,
    lives: Lives,
}

impl Caches {
    /// Caches with the default bounds.
    pub fn new(realm: &Realm, backend: impl CacheBackend) -> Self {
        Self::with_settings(realm, backend, CacheSettings::new())
    }

    /// Caches with bounds of their own.
    pub fn with_settings(realm: &Realm, backend: impl CacheBackend, settings: CacheSettings) -> Self {
        let shared = Shared {
            realm: realm.tag(),
            backend: Box::new(backend),
            settings,
            counters: Counters::default(),
            lives: Lives::default(),
        };
        Self { gate: Gate::new(realm, STORE), shared: Arc::new(shared) }
    }

    /// Says that the back end stands in another region than the realm's own.
    #[must_use]
    pub fn in_region(mut self, region: Region) -> Self {
        self.gate = self.gate.in_region(region);
        self
    }

    /// The caches of one context: owned, cheap to clone, `'static`.
    ///
    /// # Errors
    /// [`Denial::ForeignRealm`], [`Denial::WrongRegion`], or as any use of a context; recorded.
    pub fn scoped(&self, context: &TenantContext) -> Result<TenantCaches, Denial> {
        let pass = self.gate.scoped(context)?;
        let state = self.shared.lives.of(self.shared.realm, context.life());
        Ok(TenantCaches { scope: Scope { shared: Arc::clone(&self.shared), state, pass } })
    }

    /// What was counted since this value was made, over all tenants. Where the realm has metrics, the same goes there by the
    /// service class of whoever looked: [`Metric::Look`](tenancy_core::Metric::Look) with the layer's name and `hit`, `miss`,
    /// `bypass` or, beside the miss, `integrity_miss`.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        self.shared.counters.read()
    }

    fn tag_of(&self, scope: &ErasureScope<'_>) -> Result<LifeTag, EraseError> {
        if scope.realm() != self.shared.realm {
            return Err(EraseError::told(Denial::ForeignRealm));
        }
        Ok(LifeTag::new(scope.realm(), scope.life()))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Eraser for Caches {
    fn store(&self) -> StoreName {
        STORE
    }

    async fn erase(&self, scope: ErasureScope<'_>) -> Result<(), EraseError> {
        let tag = self.tag_of(&scope)?;
        self.shared.backend.forget(&CacheScope::erasing(&scope, &tag)).await.map_err(EraseError::told)?;
        self.shared.lives.forget(scope.life());
        Ok(())
    }

    async fn verify(&self, scope: ErasureScope<'_>) -> Result<StoreVerdict, EraseError> {
        let tag = self.tag_of(&scope)?;
        self.shared.backend.left(&CacheScope::erasing(&scope, &tag)).await.map_err(EraseError::told)
    }
}

impl fmt::Debug for Caches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caches").field("gate", &self.gate).finish_non_exhaustive()
    }
}

/// The caches of one context. Made by [`Caches::scoped`] only.
#[derive(Clone)]
pub struct TenantCaches {
    scope: Scope,
}

impl TenantCaches {
    /// The context.
    #[must_use]
    pub fn context(&self) -> &TenantContext {
        self.scope.pass.context()
    }

    /// Models' answers. Values go through JSON.
    #[must_use]
    pub fn response<V: Serialize + DeserializeOwned + Send + Sync>(&self) -> TenantLayer<ResponseParts, V> {
        TenantLayer::new(self.scope.clone())
    }

    /// What searches found.
    #[must_use]
    pub fn retrieval<V: Serialize + DeserializeOwned + Send + Sync>(&self) -> TenantLayer<RetrievalParts, V> {
        TenantLayer::new(self.scope.clone())
    }

    /// Vectors of texts.
    #[must_use]
    pub fn embedding<V: Serialize + DeserializeOwned + Send + Sync>(&self) -> TenantLayer<EmbeddingParts, V> {
        TenantLayer::new(self.scope.clone())
    }

    /// Results of tools. Only of those that change nothing: a call that is answered from here does not happen.
    #[must_use]
    pub fn tool<V: Serialize + DeserializeOwned + Send + Sync>(&self) -> TenantLayer<ToolParts, V> {
        TenantLayer::new(self.scope.clone())
    }

    /// The salt that keeps this tenant's prefixes apart in an inference engine. The same in every process that shares
    /// the back end; another one after a [`flush`](Self::flush) and for another adapter.
    ///
    /// # Errors
    /// [`CacheError::Bypassed`] when the back end has no epoch for it: don't send the request to a shared engine then,
    /// for without a salt it would share its prefixes with everybody. [`CacheError::Denied`].
    pub async fn engine_salt(&self, parts: &EngineParts) -> Result<EngineSalt, CacheError> {
        let entered = self.scope.pass.enter("cache.engine_salt").await?;
        let derived = match self.scope.moment(&entered, Layer::Engine, &[]).await {
            Ok(moment) => derive(self.context(), &moment, parts),
            Err(error) => Err(error),
        };
        self.scope.end(entered, derived)
    }

    /// Counts what an engine said of its prefix cache after a call with the [salt](Self::engine_salt): how many tokens of
    /// the prompt it had.
    pub fn count_engine(&self, cached_tokens: u64) {
        self.scope.count(Layer::Engine, if cached_tokens > 0 { Outcome::Hit } else { Outcome::Miss });
    }

    /// The moment for [`derive`](crate::derive), with the versions of the shared corpora that will be searched: read it
    /// before anything is retrieved for the question. The layers do this by themselves.
    ///
    /// # Errors
    /// [`CacheError::Bypassed`] when there is none; [`CacheError::Denied`].
    pub async fn moment(&self, layer: Layer, shared: &[Corpus]) -> Result<Moment, CacheError> {
        let entered = self.scope.pass.enter("cache.moment").await?;
        let moment = self.scope.moment(&entered, layer, shared).await;
        self.scope.end(entered, moment)
    }

    /// Lets go of everything this tenant has in every layer, its engine salts too, by a new epoch. What is being
    /// computed meanwhile is kept under the old one and never found.
    ///
    /// Dropped, or failed, the tenant's layers are bypassed in this process until a flush succeeds.
    ///
    /// # Errors
    /// [`CacheError::Invalidate`]; [`CacheError::Denied`].
    pub async fn flush(&self) -> Result<(), CacheError> {
        let entered = self.scope.pass.enter("cache.flush").await?;
        let removals: Vec<_> = self.scope.state.layers().iter().map(LayerState::owe_everything).collect();
        let tag = &self.scope.state.tag;
        let forgotten = self.scope.ask(self.scope.backend().forget(&CacheScope::entered(&entered, tag))).await;
        if let Err(error) = forgotten {
            entered.failed();
            return Err(CacheError::Invalidate(error));
        }
        for (layer, removal) in self.scope.state.layers().iter().zip(removals) {
            layer.retire_fills();
            layer.settle_everything(removal);
        }
        entered.changed();
        Ok(())
    }
}

#[cfg(feature = "semantic")]
impl TenantCaches {
    pub(crate) fn into_scope(self) -> Scope {
        self.scope
    }
}

impl fmt::Debug for TenantCaches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantCaches({:?})", self.context())
    }
}

/// What every scoped handle holds.
#[derive(Clone)]
pub(crate) struct Scope {
    pub(crate) shared: Arc<Shared>,
    pub(crate) state: Arc<LifeState>,
    pub(crate) pass: Pass,
}

impl Scope {
    pub(crate) fn backend(&self) -> &dyn CacheBackend {
        &*self.shared.backend
    }

    /// Counts here, and where the realm's metrics go.
    pub(crate) fn count(&self, layer: Layer, outcome: Outcome) {
        self.shared.counters.count(layer, outcome);
        self.pass.count_look(layer.name(), outcome.word());
    }

    pub(crate) fn realm(&self) -> RealmTag {
        self.shared.realm
    }

    /// Asks the back end, for as long as the settings say.
    pub(crate) async fn ask<T>(
        &self,
        call: impl Future<Output = Result<T, BackendError>> + Send,
    ) -> Result<T, BackendError> {
        self.within(call).await.unwrap_or_else(|late| Err(BackendError::new(late)))
    }

    /// Waits as long as the settings say.
    pub(crate) async fn within<T>(&self, call: impl Future<Output = T> + Send) -> Result<T, BoxError> {
        tokio::time::timeout(self.shared.settings.wait(), call).await.map_err(BoxError::from)
    }

    /// Asks the store of questions, for as long as the settings say.
    #[cfg(feature = "semantic")]
    pub(crate) async fn in_time<T>(
        &self,
        asked: impl Future<Output = Result<T, CacheError>> + Send,
    ) -> Result<T, CacheError> {
        match self.within(asked).await {
            Ok(Err(CacheError::Questions(_))) | Err(_) => Err(Bypass::Backend.into()),
            Ok(answered) => answered,
        }
    }

    /// The epoch, and for a layer that follows the documents their version and those of shared corpora.
    pub(crate) async fn moment(
        &self,
        entered: &Entered<'_>,
        layer: Layer,
        corpora: &[Corpus],
    ) -> Result<Moment, CacheError> {
        let scope = CacheScope::entered(entered, &self.state.tag);
        let epoch = self.ask(self.backend().epoch(&scope)).await.map_err(|_| Bypass::Backend)?;
        let versions = self.versions(entered, layer, corpora).await?;
        Ok(Moment::new(entered.context(), Read { realm: self.shared.realm, epoch, versions }))
    }

    async fn versions(&self, entered: &Entered<'_>, layer: Layer, corpora: &[Corpus]) -> Result<Versions, CacheError> {
        let corpus = if layer.follows_corpus() { Some(self.version(entered.corpus_version()).await?) } else { None };
        let mut shared = HashMap::with_capacity(corpora.len());
        for corpus in corpora {
            shared.insert(corpus.life(), self.version(entered.version_of(corpus)).await?);
        }
        Ok(Versions { corpus, shared })
    }

    /// A version of documents, or why the cache is bypassed without one.
    async fn version(
        &self,
        asked: impl Future<Output = Result<Option<CorpusVersion>, Denial>> + Send,
    ) -> Result<CorpusVersion, CacheError> {
        match self.within(asked).await {
            Ok(Ok(Some(version))) => Ok(version),
            Ok(Ok(None)) => Err(Bypass::CorpusWrite.into()),
            Ok(Err(denial @ Denial::ForeignRealm)) => Err(denial.into()),
            Ok(Err(_)) | Err(_) => Err(Bypass::CorpusUnknown.into()),
        }
    }

    /// The name of an entry at this moment.
    pub(crate) async fn name<P: EntryParts>(&self, entered: &Entered<'_>, parts: &P) -> Result<Name, CacheError> {
        let versions = self.versions(entered, P::LAYER, parts.corpora()).await?;
        name(entered.context(), self.shared.realm, &versions, parts)
    }

    /// Ends a call that reads, or that fills the cache: what is kept is derived, so a fill is no change of data.
    pub(crate) fn end<T>(&self, entered: Entered<'_>, outcome: Result<T, CacheError>) -> Result<T, CacheError> {
        match outcome {
            Ok(value) => {
                entered.done();
                Ok(value)
            }
            Err(CacheError::Denied(denial)) => Err(entered.deny(denial).into()),
            Err(CacheError::Bypassed(reason)) => {
                entered.done();
                Err(reason.into())
            }
            Err(other) => {
                entered.failed();
                Err(other)
            }
        }
    }
}

/// The name under which placements name cells of this store, and audit records the store.
pub const STORE: StoreName = StoreName::new("cache");
