//! The place of a value that is not there yet: the only way to write.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tenancy_core::{Denial, Entered};
use tokio::sync::MutexGuard;

use crate::backend::CacheScope;
use crate::caches::Scope;
use crate::envelope::{self, Kept, Plain};
use crate::epoch::Epoch;
use crate::error::{Bypass, CacheError};
use crate::flight::{Flight, Landed};
use crate::key::{CacheKey, Name};

/// The reserved place of a value: it holds the key that was derived when the question was asked, so a value computed
/// from older documents, or for fewer eyes, can't end up under another one.
pub struct Slot<V> {
    pub(crate) scope: Scope,
    key: CacheKey,
    generation: u64,
    types: PhantomData<fn() -> V>,
}

/// What became of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Put {
    /// It was handed to the back end.
    Stored,
    /// It is not kept, which is no reason to fail.
    Skipped(Bypass),
}

impl<V> Slot<V> {
    pub(crate) fn new(scope: &Scope, name: Name, epoch: Epoch, generation: u64) -> Self {
        Self { scope: scope.clone(), key: name.at(epoch), generation, types: PhantomData }
    }

    /// How large a value may be.
    pub(crate) fn limit(&self) -> usize {
        self.scope.shared.settings.of(self.key.layer()).size
    }

    fn ensure_current(&self) -> Result<(), Bypass> {
        let layer = self.scope.state.layer(self.key.layer());
        if layer.generation() == self.generation { Ok(()) } else { Err(Bypass::Invalidated) }
    }

    pub(crate) async fn put_plain(&self, plain: &Plain) -> Result<Put, CacheError> {
        let entered = self.scope.pass.enter("cache.put").await?;
        let stored = self.store(&entered, plain).await;
        match self.scope.end(entered, stored) {
            Ok(()) => Ok(Put::Stored),
            Err(CacheError::Bypassed(reason)) => Ok(Put::Skipped(reason)),
            Err(error) => Err(error),
        }
    }

    async fn store(&self, entered: &Entered<'_>, plain: &Plain) -> Result<(), CacheError> {
        let limits = self.scope.shared.settings.of(self.key.layer());
        let context = entered.context();
        let kept = plain.seal(context, &self.key, context.now() + limits.ttl + MARGIN)?;
        if kept.len() > limits.size {
            return Err(Bypass::TooLarge.into());
        }
        let layer = self.scope.state.layer(self.key.layer());
        // Who waits for a removal to end has begun before it, as a rule.
        self.ensure_current()?;
        let landing = self.scope.within(layer.fills.read()).await.map_err(|_| Bypass::Invalidated)?;
        self.ensure_current()?;
        let tag = &self.scope.state.tag;
        let (scope, key) = (CacheScope::entered(entered, tag), tag.key(self.key.name()));
        let put = self.scope.ask(self.scope.backend().put(&scope, &key, kept, limits.ttl)).await;
        drop(landing);
        put.map_err(|_| Bypass::Backend.into())
    }
}

impl<V: Serialize + DeserializeOwned + Send + Sync> Slot<V> {
    /// Keeps the value, sealed for this key. Dropped at any await it is kept or not.
    ///
    /// # Errors
    /// [`CacheError::Denied`]; [`CacheError::Value`].
    pub async fn put(self, value: &V) -> Result<Put, CacheError> {
        self.put_plain(&Plain::of(self.scope.pass.context(), value)?).await
    }

    /// Waits for a turn, then takes the value that somebody else computed, or computes it and says what became of it.
    pub(crate) async fn take_turn<E, C, F>(self, compute: C) -> Result<(V, Option<Put>), E>
    where
        C: FnOnce() -> F + Send,
        F: Future<Output = Result<V, E>> + Send,
        E: From<CacheError> + Send,
    {
        let seat = self.scope.state.flights.join(self.key);
        let mut turn = self.wait(&seat.flight).await?;
        if let Some(value) = self.landed(turn.as_ref()).await? {
            return Ok((value, None));
        }
        // Whoever had the turn before may have put a value and been dropped before it said so.
        if let Some(kept) = self.look_again().await? {
            return Ok((kept.value, None));
        }
        let value = compute().await?;
        let context = self.scope.pass.context();
        let Ok(plain) = Plain::of(context, &value) else { return Ok((value, None)) };
        *turn = Some(Landed { generation: self.generation, plain: context.scope(plain.clone()) });
        let put = self.put_plain(&plain).await?;
        seat.close();
        Ok((value, Some(put)))
    }

    /// Computes the value anew where what is kept is older than that, unless somebody does already.
    pub(crate) async fn renew<E, C, F>(self, fresh: Duration, compute: C) -> Result<(), E>
    where
        C: FnOnce() -> F + Send,
        F: Future<Output = Result<V, E>> + Send,
        E: From<CacheError> + Send,
    {
        let seat = self.scope.state.flights.join(self.key);
        let Ok(_turn) = seat.flight.turn.try_lock() else { return Ok(()) };
        // Nothing is there any more, or it was renewed meanwhile.
        if self.look_again().await?.is_none_or(|kept| kept.age < fresh) {
            return Ok(());
        }
        let value = compute().await?;
        self.put_plain(&Plain::of(self.scope.pass.context(), &value)?).await?;
        Ok(())
    }

    async fn wait<'f>(&self, flight: &'f Flight) -> Result<MutexGuard<'f, Option<Landed>>, CacheError> {
        let remaining = self.scope.pass.context().remaining();
        let turn = tokio::time::timeout(remaining, flight.turn.lock()).await;
        turn.map_err(|_| self.scope.pass.refuse("cache.wait", Denial::DeadlinePassed).into())
    }

    async fn landed(&self, landed: Option<&Landed>) -> Result<Option<V>, CacheError> {
        let Some(landed) = landed.filter(|landed| landed.generation == self.generation) else { return Ok(None) };
        let context = self.scope.pass.context();
        // Whoever had the turn may have taken longer than what is known of the tenant's standing lasts.
        context.refresh().await?;
        Ok(landed.plain.peek(context)?.value())
    }

    async fn look_again(&self) -> Result<Option<Kept<V>>, CacheError> {
        let layer = self.scope.state.layer(self.key.layer());
        if layer.ensure_settled().is_err() || self.ensure_current().is_err() {
            return Ok(None);
        }
        let entered = self.scope.pass.enter("cache.lookup").await?;
        let found = envelope::find(&self.scope, &entered, self.key.name()).await;
        match self.scope.end(entered, found) {
            Err(CacheError::Bypassed(_)) => Ok(None),
            other => Ok(other?.1),
        }
    }
}

impl<V> fmt::Debug for Slot<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slot({}, ..)", self.key.layer().name())
    }
}

/// A seal's expiry has whole seconds. It comes a little after the back end's, which counts from when it is told, and after the
/// moment for which a near one goes on: only a back end that keeps an entry past its time hands out one that does not open.
const MARGIN: Duration = Duration::from_secs(4);
