//! One layer of one context: look, fill, invalidate.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tenancy_core::{Denial, Entered};

use crate::backend::CacheScope;
use crate::caches::Scope;
use crate::error::{Bypass, CacheError};
use crate::key::question;
use crate::life::LayerState;
use crate::parts::{EntryParts, KeyParts};
use crate::slot::Slot;

/// One layer of one context's caches, for values of type `V`. Owned, cheap to clone, `'static`.
pub struct TenantLayer<P, V> {
    scope: Scope,
    types: PhantomData<fn(&P) -> V>,
}

/// What a look into a cache comes to.
#[expect(clippy::exhaustive_enums, reason = "there is no fourth outcome; a caller decides in each of the three")]
#[must_use]
pub enum Lookup<V> {
    /// The value, kept for this very question, this tenant and this visibility.
    Hit(V),
    /// There is none: compute it and [`put`](Slot::put) it.
    Miss(Slot<V>),
    /// The cache stands aside: compute the value and keep it nowhere.
    Bypass(Bypass),
}

impl<P, V> TenantLayer<P, V>
where
    P: EntryParts,
    V: Serialize + DeserializeOwned + Send + Sync,
{
    pub(crate) const fn new(scope: Scope) -> Self {
        Self { scope, types: PhantomData }
    }

    /// Looks for a value. The key is derived now, before anything is retrieved, and stays in the [`Slot`].
    ///
    /// A back end that fails or is slow is a [`Lookup::Bypass`], a value that does not open a miss that is counted and
    /// on record. Dropped at any await it changes nothing.
    ///
    /// # Errors
    /// [`CacheError::Denied`].
    pub async fn lookup(&self, parts: &P) -> Result<Lookup<V>, CacheError> {
        let entered = self.scope.pass.enter("cache.lookup").await?;
        let found = self.find(&entered, parts).await;
        let counters = self.scope.shared.counters.of(P::LAYER);
        match self.scope.end(entered, found) {
            Ok(found) => {
                match &found {
                    Lookup::Hit(_) => counters.hits.count(),
                    Lookup::Miss(_) => counters.misses.count(),
                    Lookup::Bypass(_) => counters.bypasses.count(),
                }
                Ok(found)
            }
            Err(CacheError::Bypassed(reason)) => {
                counters.bypasses.count();
                Ok(Lookup::Bypass(reason))
            }
            Err(error) => Err(error),
        }
    }

    async fn find(&self, entered: &Entered<'_>, parts: &P) -> Result<Lookup<V>, CacheError> {
        self.layer().ensure_settled()?;
        let generation = self.layer().generation();
        let name = self.scope.name(entered, parts).await?;
        Slot::look(&self.scope, entered, name, generation).await
    }

    /// The value that is kept, or the computed one, which is kept then.
    ///
    /// Of callers that ask for one key at the same time in this process one computes; the others wait and take its
    /// value. When it fails or is dropped the next one computes. An error is given to the caller whose computation it
    /// was, and never kept. A caller waits no longer than its context lives.
    ///
    /// The computation runs inside this future: dropped, it is dropped too.
    ///
    /// # Errors
    /// `E` of the computation, or [`CacheError::Denied`] through `From`.
    pub async fn get_or_try_compute<E, C, F>(&self, parts: &P, compute: C) -> Result<V, E>
    where
        C: FnOnce() -> F + Send,
        F: Future<Output = Result<V, E>> + Send,
        E: From<CacheError> + Send,
    {
        match self.lookup(parts).await? {
            Lookup::Hit(value) => Ok(value),
            Lookup::Bypass(_) => compute().await,
            Lookup::Miss(slot) => slot.take_turn(compute).await,
        }
    }

    /// Removes the value of a question. What is being computed for this layer of the tenant meanwhile is not kept.
    ///
    /// A failure, and a future that is dropped, leave the layer of this tenant bypassed in this process until the same
    /// call, or a [`flush`](crate::TenantCaches::flush), succeeds. While a document is being written there is nothing
    /// to do for a layer that follows the documents: what was kept before is not found after it.
    ///
    /// # Errors
    /// [`CacheError::Invalidate`], [`CacheError::Bypassed`] when the key can't be known: try again.
    /// [`CacheError::Denied`].
    pub async fn invalidate(&self, parts: &P) -> Result<(), CacheError> {
        let entered = self.scope.pass.enter("cache.invalidate").await?;
        let question = match question(entered.context(), self.scope.realm(), parts) {
            Ok(question) => question,
            Err(error) => return self.scope.end(entered, Err(error)),
        };
        let removal = self.layer().owe(question);
        match self.remove(&entered, parts).await {
            Ok(()) => {
                self.layer().settle(&question, removal);
                entered.changed();
                Ok(())
            }
            Err(CacheError::Denied(denial)) => Err(entered.deny(denial).into()),
            Err(error) => {
                entered.failed();
                Err(error)
            }
        }
    }

    async fn remove(&self, entered: &Entered<'_>, parts: &P) -> Result<(), CacheError> {
        let alone = self.layer().fills.write().await;
        self.layer().retire_fills();
        let key = match self.scope.name(entered, parts).await {
            Err(CacheError::Bypassed(Bypass::CorpusWrite)) => return Ok(()),
            other => self.scope.state.tag.key(&other?),
        };
        let scope = CacheScope::entered(entered, &self.scope.state.tag);
        let late = self.scope.shared.settings.of(P::LAYER).ttl + LONGEST_FILL;
        let removed = self.scope.ask(self.scope.backend().remove(&scope, &key, late)).await;
        drop(alone);
        removed.map_err(CacheError::Invalidate)
    }

    fn layer(&self) -> &LayerState {
        self.scope.state.layer(P::LAYER)
    }
}

impl<P, V> Clone for TenantLayer<P, V> {
    fn clone(&self) -> Self {
        Self { scope: self.scope.clone(), types: PhantomData }
    }
}

impl<P: KeyParts, V> fmt::Debug for TenantLayer<P, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantLayer({}, {:?})", P::LAYER.name(), self.scope.pass.context())
    }
}

impl<V> fmt::Debug for Lookup<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hit(_) => f.write_str("Hit(..)"),
            Self::Miss(_) => f.write_str("Miss(..)"),
            Self::Bypass(reason) => write!(f, "Bypass({reason:?})"),
        }
    }
}

/// Longer than a context lives, and so than a fill is under way that was begun under one.
const LONGEST_FILL: Duration = Duration::from_secs(24 * 3600);

/// Whether a denial says that what came back is not what was kept here, rather than that the context may not read.
pub(crate) const fn is_integrity(denial: &Denial) -> bool {
    matches!(denial, Denial::Seal(_) | Denial::WrongLife | Denial::ForeignRealm)
}
