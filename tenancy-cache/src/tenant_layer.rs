//! One layer of one context: look, fill, invalidate.

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tenancy_core::{Denial, Entered};

use crate::caches::Scope;
use crate::envelope::{self, Kept};
use crate::error::{Bypass, CacheError};
use crate::key::{Name, question};
use crate::layer::Layer;
use crate::parts::{EntryParts, KeyParts};
use crate::slot::Slot;
use crate::stats::Outcome;

/// One layer of one context's caches, for values of type `V`. Owned, cheap to clone, `'static`.
pub struct TenantLayer<P, V> {
    scope: Scope,
    types: PhantomData<fn(&P) -> V>,
}

/// What a look into a cache comes to.
#[expect(clippy::exhaustive_enums, reason = "there is no fourth outcome; a caller decides in each of the three")]
#[must_use]
pub enum Lookup<V, S = Slot<V>> {
    /// The value, kept for this very question, this tenant and this visibility.
    Hit(V),
    /// There is none: compute it and [`put`](Slot::put) it.
    Miss(S),
    /// The cache stands aside: compute the value and keep it nowhere.
    Bypass(Bypass),
}

/// The same to this crate: a value comes with its age, and with the place of the next one.
pub(crate) enum Look<V, S> {
    Seen(Seen<V, S>),
    Miss(S),
    Bypass(Bypass),
}

pub(crate) struct Seen<V, S> {
    pub(crate) kept: Kept<V>,
    pub(crate) slot: S,
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
        Ok(match self.look(parts).await? {
            Look::Seen(seen) => Lookup::Hit(seen.kept.value),
            Look::Miss(slot) => Lookup::Miss(slot),
            Look::Bypass(reason) => Lookup::Bypass(reason),
        })
    }

    pub(crate) async fn look(&self, parts: &P) -> Result<Look<V, Slot<V>>, CacheError> {
        let entered = self.scope.pass.enter("cache.lookup").await?;
        let found = self.find(&entered, parts).await;
        self.scope.looked(entered, P::LAYER, found)
    }

    async fn find(&self, entered: &Entered<'_>, parts: &P) -> Result<Look<V, Slot<V>>, CacheError> {
        let layer = self.scope.state.layer(P::LAYER);
        layer.ensure_settled()?;
        let generation = layer.generation();
        let name = self.scope.name(entered, parts).await?;
        let (epoch, kept) = envelope::find(&self.scope, entered, &name).await?;
        let slot = Slot::new(&self.scope, name, epoch, generation);
        Ok(match kept {
            Some(kept) => Look::Seen(Seen { kept, slot }),
            None => Look::Miss(slot),
        })
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
            Lookup::Miss(slot) => Ok(slot.take_turn(compute).await?.0),
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
        match question(entered.context(), self.scope.realm(), parts) {
            Ok(owed) => {
                let remove = async |entered: &Entered<'_>, name: &Name| self.scope.remove(entered, name).await;
                self.scope.invalidate(entered, owed, parts, remove).await
            }
            Err(error) => self.scope.end(entered, Err(error)),
        }
    }
}

impl Scope {
    /// Ends a look, and counts what it came to.
    pub(crate) fn looked<V, S>(
        &self,
        entered: Entered<'_>,
        layer: Layer,
        found: Result<Look<V, S>, CacheError>,
    ) -> Result<Look<V, S>, CacheError> {
        let look = match self.end(entered, found) {
            Err(CacheError::Bypassed(reason)) => Look::Bypass(reason),
            other => other?,
        };
        let outcome = match &look {
            Look::Seen(_) => Outcome::Hit,
            Look::Miss(_) => Outcome::Miss,
            Look::Bypass(_) => Outcome::Bypass,
        };
        self.count(layer, outcome);
        Ok(look)
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

impl<V, S> fmt::Debug for Lookup<V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hit(_) => f.write_str("Hit(..)"),
            Self::Miss(_) => f.write_str("Miss(..)"),
            Self::Bypass(reason) => write!(f, "Bypass({reason:?})"),
        }
    }
}

/// Whether a denial says that what came back is not what was kept here, rather than that the context may not read.
pub(crate) const fn is_integrity(denial: &Denial) -> bool {
    matches!(denial, Denial::Seal(_) | Denial::WrongLife | Denial::ForeignRealm)
}
