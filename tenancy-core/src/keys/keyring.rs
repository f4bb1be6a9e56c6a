//! Unwrapped keys in use: derived once per life, cached for a bounded age, zeroised when let go.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use zeroize::Zeroizing;

use super::{DataKey, KeyProvider, KeySlot, KeyStore, KeyStoreError};
use crate::clock::Clock;
use crate::denial::Denial;
use crate::encode::Fields;
use crate::id::{Life, RealmName};
use crate::purpose::{DATA_LABELS, REALM_LABELS, RealmPurpose, SEAL_LABELS};

/// The keys of one life, ready for use.
pub(crate) struct LifeKeys {
    names: Vec<Zeroizing<[u8; 32]>>,
    seals: Vec<SealKey>,
    /// Shared by every generation of this life's keys, so that destroying reaches all handles.
    destroyed: Arc<AtomicBool>,
}

/// A sealing key and the id that a sealed value carries of it.
pub(crate) struct SealKey {
    pub(crate) secret: Zeroizing<[u8; 32]>,
    pub(crate) id: [u8; 8],
}

impl LifeKeys {
    fn new(realm: &RealmName, life: Life, names: &DataKey, seals: &DataKey, destroyed: Arc<AtomicBool>) -> Self {
        Self {
            names: DATA_LABELS.iter().map(|label| subkey(label, names, realm, Some(life))).collect(),
            seals: SEAL_LABELS.iter().map(|label| SealKey::new(subkey(label, seals, realm, Some(life)))).collect(),
            destroyed,
        }
    }

    /// The naming key at an index of `DataPurpose`.
    pub(crate) fn name(&self, index: usize) -> Result<&[u8; 32], Denial> {
        self.usable()?;
        Ok(&self.names[index])
    }

    /// The sealing key at an index of `SealPurpose`.
    pub(crate) fn seal(&self, index: usize) -> Result<&SealKey, Denial> {
        self.usable()?;
        Ok(&self.seals[index])
    }

    fn usable(&self) -> Result<(), Denial> {
        if self.destroyed.load(Ordering::Acquire) { Err(Denial::KeyDestroyed) } else { Ok(()) }
    }
}

impl SealKey {
    pub(crate) fn new(secret: Zeroizing<[u8; 32]>) -> Self {
        let id = blake3::derive_key("tenancy 2026-11-29 seal key id v1", secret.as_slice());
        let mut short = [0; 8];
        short.copy_from_slice(&id[..8]);
        Self { secret, id: short }
    }
}

/// The realm's own keys.
pub(crate) struct RealmKeys {
    keys: Vec<Zeroizing<[u8; 32]>>,
}

impl RealmKeys {
    pub(crate) fn get(&self, purpose: RealmPurpose) -> &[u8; 32] {
        &self.keys[purpose as usize]
    }
}

/// Loads, makes and caches keys.
pub(crate) struct Keyring {
    realm: RealmName,
    provider: Arc<dyn KeyProvider>,
    store: Arc<dyn KeyStore>,
    clock: Arc<dyn Clock>,
    age: Duration,
    cache: Mutex<HashMap<Life, Cached>>,
    destroyed: Mutex<HashMap<Life, Arc<AtomicBool>>>,
}

struct Cached {
    keys: Arc<LifeKeys>,
    until: Duration,
}

impl Keyring {
    pub(crate) fn new(
        realm: RealmName,
        provider: Arc<dyn KeyProvider>,
        store: Arc<dyn KeyStore>,
        clock: Arc<dyn Clock>,
        age: Duration,
    ) -> Self {
        Self { realm, provider, store, clock, age, cache: Mutex::default(), destroyed: Mutex::default() }
    }

    /// The realm's keys, made at the first start of a deployment.
    pub(crate) async fn realm(&self) -> Result<RealmKeys, Denial> {
        let key = self.data_key(None, "realm").await?;
        let keys = REALM_LABELS.iter().map(|label| subkey(label, &key, &self.realm, None)).collect();
        Ok(RealmKeys { keys })
    }

    /// The keys of a life, from the cache if it is young enough. Dropped at any await: at most a wrap is stored that
    /// the next caller uses.
    pub(crate) async fn life(&self, life: Life) -> Result<Arc<LifeKeys>, Denial> {
        let asked = self.clock.monotonic();
        if let Some(keys) = self.cached(life, asked) {
            return Ok(keys);
        }
        // Taken before the store is asked: a destruction that comes meanwhile is not missed.
        let destroyed = self.destroyed(life);
        let names = self.data_key(Some(life), "names").await?;
        let seals = self.data_key(Some(life), "seals").await?;
        let keys = Arc::new(LifeKeys::new(&self.realm, life, &names, &seals, destroyed));
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= CACHE_SOFT_LIMIT {
            cache.retain(|_, cached| cached.until > asked);
        }
        cache.insert(life, Cached { keys: Arc::clone(&keys), until: asked + self.age });
        Ok(keys)
    }

    /// Destroys the keys of a life: in the store first, then here, where every handle that still holds them refuses.
    pub(crate) async fn destroy(&self, life: Life) -> Result<u64, Denial> {
        let slot = KeySlot::new(&self.realm, Some(life), "names");
        let deleted = self.store.destroy(slot).await.map_err(refused)?;
        self.destroyed(life).store(true, Ordering::Release);
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).remove(&life);
        Ok(deleted)
    }

    fn destroyed(&self, life: Life) -> Arc<AtomicBool> {
        let mut flags = self.destroyed.lock().unwrap_or_else(PoisonError::into_inner);
        if flags.len() >= CACHE_SOFT_LIMIT {
            // Nobody holds keys of these lives; the store remembers what was destroyed.
            flags.retain(|_, flag| Arc::strong_count(flag) > 1);
        }
        Arc::clone(flags.entry(life).or_default())
    }

    fn cached(&self, life: Life, now: Duration) -> Option<Arc<LifeKeys>> {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.get(&life).filter(|cached| cached.until > now).map(|cached| Arc::clone(&cached.keys))
    }

    async fn data_key(&self, life: Option<Life>, usage: &'static str) -> Result<DataKey, Denial> {
        let slot = KeySlot::new(&self.realm, life, usage);
        let wrapped = match self.store.load(slot).await.map_err(refused)? {
            Some(wrapped) => wrapped,
            None => {
                let fresh = DataKey::random();
                let wrapped = self.provider.wrap(slot, &fresh).await.map_err(|_| Denial::KeyUnavailable)?;
                self.store.insert(slot, wrapped).await.map_err(refused)?
            }
        };
        self.provider.unwrap(slot, &wrapped).await.map_err(|_| Denial::KeyUnavailable)
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyring({})", self.realm)
    }
}

fn refused(error: KeyStoreError) -> Denial {
    match error {
        KeyStoreError::Destroyed => Denial::KeyDestroyed,
        KeyStoreError::Unavailable(_) => Denial::KeyUnavailable,
    }
}

/// `keyed_hash(derive_key(label, data key), realm, life)`: one data key serves several uses without their meeting.
fn subkey(label: &str, key: &DataKey, realm: &RealmName, life: Option<Life>) -> Zeroizing<[u8; 32]> {
    let purpose = Zeroizing::new(blake3::derive_key(label, key.expose_secret()));
    let mut scope = Fields::new();
    scope.text(1, realm.as_str());
    scope.opt_bytes(2, life.map(Life::uuid).as_ref().map(|id| id.as_bytes().as_slice()));
    Zeroizing::new(*blake3::keyed_hash(&purpose, scope.as_bytes()).as_bytes())
}

const CACHE_SOFT_LIMIT: usize = 10_000;
