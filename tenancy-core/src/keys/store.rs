//! Where wrapped keys are kept.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use super::WrappedKey;
use crate::id::{Life, RealmName};
use crate::redacted::{BoxError, Redacted};

/// Which key is meant: an owner (the realm, or one life) and a use. Built by this crate only, so that a store can't be
/// asked for a key past the realm.
#[derive(Clone, Copy)]
pub struct KeySlot<'a> {
    realm: &'a RealmName,
    life: Option<Life>,
    usage: &'static str,
}

impl<'a> KeySlot<'a> {
    pub(crate) const fn new(realm: &'a RealmName, life: Option<Life>, usage: &'static str) -> Self {
        Self { realm, life, usage }
    }

    /// The realm.
    #[must_use]
    pub const fn realm(&self) -> &'a RealmName {
        self.realm
    }

    /// The owning life; `None` for the realm's own keys.
    #[must_use]
    pub const fn life(&self) -> Option<Life> {
        self.life
    }

    /// The use, a short fixed word.
    #[must_use]
    pub const fn usage(&self) -> &'static str {
        self.usage
    }

    /// What a provider binds into the wrap, so that a wrap moved to another slot does not open.
    #[must_use]
    pub fn associated_data(&self) -> Vec<u8> {
        let mut fields = crate::encode::Fields::new();
        fields.text(1, self.realm.as_str());
        fields.opt_bytes(2, self.life.map(Life::uuid).as_ref().map(|id| id.as_bytes().as_slice()));
        fields.text(3, self.usage);
        fields.as_bytes().to_vec()
    }
}

impl fmt::Debug for KeySlot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySlot({}, {:?}, {})", self.realm, self.life, self.usage)
    }
}

/// Keeps wrapped keys. Implemented by users; called by the realm only.
///
/// The store of a life's keys must not share a backup with the data they seal, or a restored backup brings both back.
#[async_trait]
pub trait KeyStore: Send + Sync + 'static {
    /// The wrap in a slot, or `None` when the slot is empty.
    ///
    /// # Errors
    /// [`KeyStoreError::Destroyed`] for a life whose keys were destroyed, [`KeyStoreError::Unavailable`] otherwise.
    async fn load(&self, slot: KeySlot<'_>) -> Result<Option<WrappedKey>, KeyStoreError>;

    /// Puts a wrap into an empty slot and returns the one that is there afterwards: of two racing writers both get the
    /// winner's.
    ///
    /// # Errors
    /// As [`load`](Self::load). A destroyed life takes no new key, ever.
    async fn insert(&self, slot: KeySlot<'_>, key: WrappedKey) -> Result<WrappedKey, KeyStoreError>;

    /// Deletes every wrap of the slot's owner and leaves a tombstone. Idempotent. Returns how many wraps it deleted.
    ///
    /// # Errors
    /// [`KeyStoreError::Unavailable`]; what was deleted stays deleted, and a retry goes on.
    async fn destroy(&self, owner: KeySlot<'_>) -> Result<u64, KeyStoreError>;
}

/// Why a key store refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyStoreError {
    /// The keys of this life were destroyed.
    #[error("the keys of this life are destroyed")]
    Destroyed,
    /// The store did not answer, or what it holds can't be read.
    #[error("the key store is unavailable")]
    Unavailable(#[source] Redacted<BoxError>),
}

impl KeyStoreError {
    /// Wraps a driver's error.
    pub fn unavailable(error: impl Into<BoxError>) -> Self {
        Self::Unavailable(Redacted::new(error.into()))
    }
}

/// Keys in memory, gone with the process: for tests and for services whose sealed data does not outlive them.
#[derive(Debug, Default)]
pub struct MemoryKeyStore {
    state: Mutex<MemoryState>,
}

#[derive(Debug, Default)]
struct MemoryState {
    wraps: HashMap<(String, Option<Life>, &'static str), WrappedKey>,
    destroyed: HashSet<Life>,
}

impl MemoryKeyStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn with<T>(&self, slot: KeySlot<'_>, act: impl FnOnce(&mut MemoryState) -> T) -> Result<T, KeyStoreError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.life().is_some_and(|life| state.destroyed.contains(&life)) {
            return Err(KeyStoreError::Destroyed);
        }
        Ok(act(&mut state))
    }
}

fn index(slot: KeySlot<'_>) -> (String, Option<Life>, &'static str) {
    (slot.realm().as_str().to_owned(), slot.life(), slot.usage())
}

#[async_trait]
impl KeyStore for MemoryKeyStore {
    async fn load(&self, slot: KeySlot<'_>) -> Result<Option<WrappedKey>, KeyStoreError> {
        self.with(slot, |state| state.wraps.get(&index(slot)).cloned())
    }

    async fn insert(&self, slot: KeySlot<'_>, key: WrappedKey) -> Result<WrappedKey, KeyStoreError> {
        self.with(slot, |state| state.wraps.entry(index(slot)).or_insert(key).clone())
    }

    async fn destroy(&self, owner: KeySlot<'_>) -> Result<u64, KeyStoreError> {
        let Some(life) = owner.life() else { return Ok(0) };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.destroyed.insert(life);
        let before = state.wraps.len();
        state.wraps.retain(|(_, owner, _), _| *owner != Some(life));
        Ok((before - state.wraps.len()) as u64)
    }
}
