//! The place of a value that is not there yet: the only way to write.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tenancy_core::purpose::CacheValue;
use tenancy_core::{Denial, Entered, Zeroizing};
use tokio::sync::MutexGuard;

use crate::backend::{CacheScope, Found};
use crate::caches::Scope;
use crate::epoch::Epoch;
use crate::error::{Bypass, CacheError};
use crate::flight::{Flight, Landed};
use crate::key::{CacheKey, Name, VALUE_SCHEMA};
use crate::tenant_layer::{Lookup, is_integrity};

/// The reserved place of a value: it holds the key that was derived when the question was asked, so a value computed
/// from older documents, or for fewer eyes, can't end up under another one.
pub struct Slot<V> {
    scope: Scope,
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

impl<V: Serialize + DeserializeOwned + Send + Sync> Slot<V> {
    /// Looks under a name, once: what the back end has there, and the epoch that it has to be of.
    pub(crate) async fn look(
        scope: &Scope,
        entered: &Entered<'_>,
        name: Name,
        generation: u64,
    ) -> Result<Lookup<V>, CacheError> {
        let (epoch, value) = read(scope, entered, &name).await?;
        let slot = || Self { scope: scope.clone(), key: name.at(epoch), generation, types: PhantomData };
        Ok(value.map_or_else(|| Lookup::Miss(slot()), Lookup::Hit))
    }

    /// Keeps the value, sealed for this key. Dropped at any await it is kept or not.
    ///
    /// # Errors
    /// [`CacheError::Denied`]; [`CacheError::Value`].
    pub async fn put(self, value: &V) -> Result<Put, CacheError> {
        self.put_json(&to_json(value)?).await
    }

    async fn put_json(&self, json: &[u8]) -> Result<Put, CacheError> {
        let entered = self.scope.pass.enter("cache.put").await?;
        let stored = self.store(&entered, json).await;
        match self.scope.end(entered, stored) {
            Ok(()) => Ok(Put::Stored),
            Err(CacheError::Bypassed(reason)) => Ok(Put::Skipped(reason)),
            Err(error) => Err(error),
        }
    }

    async fn store(&self, entered: &Entered<'_>, json: &[u8]) -> Result<(), CacheError> {
        let limits = self.scope.shared.settings.of(self.key.layer());
        let context = entered.context();
        let expires = context.now() + limits.ttl + MARGIN;
        let sealed = context.seal::<CacheValue>(VALUE_SCHEMA, &self.key.place(), Some(expires), json)?;
        let kept = [self.key.epoch().as_bytes(), sealed.as_bytes()].concat();
        if kept.len() > limits.size {
            return Err(Bypass::TooLarge.into());
        }
        let layer = self.scope.state.layer(self.key.layer());
        let landing = layer.fills.read().await;
        if layer.generation() != self.generation {
            return Err(Bypass::Invalidated.into());
        }
        let tag = &self.scope.state.tag;
        let (scope, key) = (CacheScope::entered(entered, tag), tag.key(self.key.name()));
        let put = self.scope.ask(self.scope.backend().put(&scope, &key, kept, limits.ttl)).await;
        drop(landing);
        put.map_err(|_| Bypass::Backend.into())
    }

    /// Waits for a turn, then takes the value that somebody else computed, or computes it.
    pub(crate) async fn take_turn<E, C, F>(self, compute: C) -> Result<V, E>
    where
        C: FnOnce() -> F + Send,
        F: Future<Output = Result<V, E>> + Send,
        E: From<CacheError> + Send,
    {
        let seat = self.scope.state.flights.join(self.key);
        let mut turn = self.wait(&seat.flight).await?;
        if let Some(value) = self.landed(turn.as_ref()).await? {
            return Ok(value);
        }
        // Whoever had the turn before may have put a value and been dropped before it said so.
        if let Some(value) = self.look_again().await? {
            return Ok(value);
        }
        let value = compute().await?;
        let Ok(json) = to_json(&value) else { return Ok(value) };
        let plain = self.scope.pass.context().scope(json.clone());
        *turn = Some(Landed { generation: self.generation, plain });
        self.put_json(&json).await?;
        seat.close();
        Ok(value)
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
        let json = landed.plain.peek(context)?;
        Ok(serde_json::from_slice(json).ok())
    }

    async fn look_again(&self) -> Result<Option<V>, CacheError> {
        let layer = self.scope.state.layer(self.key.layer());
        if layer.ensure_settled().is_err() || layer.generation() != self.generation {
            return Ok(None);
        }
        let entered = self.scope.pass.enter("cache.lookup").await?;
        let found = read(&self.scope, &entered, self.key.name()).await;
        match self.scope.end(entered, found) {
            Err(CacheError::Bypassed(_)) => Ok(None),
            other => Ok(other?.1),
        }
    }
}

/// The epoch of a name's entries, and the value under it if there is one that opens and is of that epoch.
///
/// A value says its epoch in the clear. It is opened under the one it names: what does not open was not kept here, and what
/// opens and is of another epoch was flushed.
async fn read<V: DeserializeOwned>(
    scope: &Scope,
    entered: &Entered<'_>,
    name: &Name,
) -> Result<(Epoch, Option<V>), CacheError> {
    let tag = &scope.state.tag;
    let (of_call, key) = (CacheScope::entered(entered, tag), tag.key(name));
    let Found { epoch, bytes } = scope.ask(scope.backend().get(&of_call, &key)).await.map_err(|_| Bypass::Backend)?;
    let Some(bytes) = bytes else { return Ok((epoch, None)) };
    let (named, sealed) = bytes.split_first_chunk().unwrap_or((&[0; 16], &[]));
    let named = Epoch::from_bytes(*named);
    match entered.context().open::<CacheValue>(VALUE_SCHEMA, &name.at(named).place(), sealed) {
        // A value of an older form of `V` is no value.
        Ok(json) if named == epoch => Ok((epoch, serde_json::from_slice(&json).ok())),
        Ok(_flushed) => Ok((epoch, None)),
        Err(denial) if is_integrity(&denial) => {
            scope.shared.counters.of(name.layer()).integrity_misses.count();
            Ok((epoch, None))
        }
        Err(denial) => Err(denial.into()),
    }
}

impl<V> fmt::Debug for Slot<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slot({}, ..)", self.key.layer().name())
    }
}

fn to_json<V: Serialize>(value: &V) -> Result<Zeroizing<Vec<u8>>, CacheError> {
    serde_json::to_vec(value).map(Zeroizing::new).map_err(|_| CacheError::Value)
}

/// A seal's expiry has whole seconds. It comes a little after the back end's, so that only a back end that keeps an entry
/// past its time hands out one that does not open.
const MARGIN: Duration = Duration::from_secs(2);
