//! What every back end must do, as functions for its tests.
//!
//! ```
//! # async fn run() {
//! tenancy_cache::conformance::all(&tenancy_cache::MemoryBackend::new()).await;
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(run());
//! ```
//!
//! Each works on lives of its own, made up for the occasion, so a back end that is in use is not disturbed, and panics
//! with what it found.

use std::time::Duration;

use tenancy_core::StoreVerdict;
use uuid::Uuid;

use crate::backend::{CacheBackend, CacheScope, LifeTag, StoreKey};
use crate::epoch::Epoch;
use crate::error::BackendError;
use crate::layer::Layer;

/// All of them.
///
/// # Panics
/// When the back end does not conform; so do all functions here.
pub async fn all(backend: &dyn CacheBackend) {
    keeps_and_removes(backend).await;
    keeps_lives_apart(backend).await;
    keeps_one_epoch_until_it_forgets(backend).await;
    forgets_everything_of_one_life(backend).await;
    is_honest_about_late_puts(backend).await;
    lets_entries_expire(backend).await;
}

/// What a back end must do beside [`all`] that several processes share: `one` and `other` are on the same store.
///
/// # Panics
/// As [`all`].
pub async fn shared(one: &dyn CacheBackend, other: &dyn CacheBackend) {
    let life = Made::new(one).await;
    let there = Made { backend: other, tag: life.tag.clone() };
    assert!(done(one.epoch(&life.scope()).await) == done(other.epoch(&there.scope()).await), "they agree on an epoch");
    for n in 0..100 {
        assert!(life.epoch_of(n).await == there.epoch_of(n).await, "they agree on an entry's epoch");
    }
    let key = life.key(Layer::Retrieval, 1);
    life.put(&key, b"kept").await;
    assert_eq!(there.get(&key).await, Some(b"kept".to_vec()), "what one puts the other finds");

    // A fill that began before a removal in another process lands after it.
    let (before, neighbour) = (life.epoch_of(1).await, life.epoch_of(2).await);
    done(other.remove(&there.scope(), &key, LATE).await);
    assert_eq!(life.get(&key).await, None, "what one removes the other does not find");
    for (who, life) in [("the one", &life), ("the other", &there)] {
        assert!(life.epoch_of(1).await != before, "{who}: a fill from before the removal counts no more");
        assert!(life.epoch_of(2).await == neighbour, "{who}: its neighbour's does");
    }
    done(other.remove(&there.scope(), &key, LATE).await);
    let again = life.epoch_of(1).await;
    assert!(again != before && again == there.epoch_of(1).await, "nor after another removal");

    let before = life.epoch_of(1).await;
    done(other.forget(&there.scope()).await);
    assert!(![before, neighbour].contains(&life.epoch_of(1).await), "what one forgets the other does");
    assert!(![before, neighbour].contains(&life.epoch_of(2).await), "what one forgets the other does");
}

/// What was put is found, byte for byte, until it is replaced or removed.
///
/// # Panics
/// When it does not.
pub async fn keeps_and_removes(backend: &dyn CacheBackend) {
    let life = Made::new(backend).await;
    for (layer, sealed) in [(Layer::Response, vec![0, 255, 10, 13]), (Layer::Embedding, vec![7; 70_000])] {
        let key = life.key(layer, 1);
        assert_eq!(life.get(&key).await, None, "nothing was put");
        life.put(&key, &sealed).await;
        assert_eq!(life.get(&key).await, Some(sealed), "what was put is found");
        life.put(&key, b"second").await;
        assert_eq!(life.get(&key).await, Some(b"second".to_vec()), "the last put counts");
        assert_eq!(life.get(&life.key(layer, 2)).await, None, "another digest is another entry");
        assert_eq!(life.get(&life.key(Layer::Tool, 1)).await, None, "another layer is another entry");
        done(backend.remove(&life.scope(), &key, LATE).await);
        assert_eq!(life.get(&key).await, None, "what was removed is gone");
        done(backend.remove(&life.scope(), &key, LATE).await);
    }
}

/// The same digest in two lives is two entries, and a key is of no use in another scope.
///
/// # Panics
/// When it is not so.
pub async fn keeps_lives_apart(backend: &dyn CacheBackend) {
    let (a, b) = (Made::new(backend).await, Made::new(backend).await);
    let (key_a, key_b) = (a.key(Layer::Response, 1), b.key(Layer::Response, 1));
    a.put(&key_a, b"a").await;
    assert_eq!(b.get(&key_b).await, None, "another life's entry is not this one's");
    assert_eq!(b.get(&key_a).await, None, "a key of another scope finds nothing");
    b.put(&key_b, b"b").await;
    assert_eq!(a.get(&key_a).await, Some(b"a".to_vec()));
    done(backend.remove(&b.scope(), &key_b, LATE).await);
    assert_eq!(a.get(&key_a).await, Some(b"a".to_vec()), "removing one leaves the other");
}

/// A life has one epoch, another one than any other life, and a new one after it was forgotten.
///
/// # Panics
/// When it has not.
pub async fn keeps_one_epoch_until_it_forgets(backend: &dyn CacheBackend) {
    let (a, b) = (Made::new(backend).await, Made::new(backend).await);
    let first = done(backend.epoch(&a.scope()).await);
    assert!(first == done(backend.epoch(&a.scope()).await), "an epoch stays");
    assert!(first != done(backend.epoch(&b.scope()).await), "each life has its own");
    let mut before = Vec::new();
    for n in 0..100 {
        before.push(a.epoch_of(n).await);
    }
    let kept = b.epoch_of(0).await;
    for n in 0..100 {
        assert!(a.epoch_of(n).await == before[usize::from(n)], "an entry's epoch stays");
        assert!(b.epoch_of(n).await != before[usize::from(n)], "each life has its own for its entries");
    }
    done(backend.remove(&a.scope(), &a.key(Layer::Retrieval, 0), LATE).await);
    done(backend.forget(&a.scope()).await);
    assert!(first != done(backend.epoch(&a.scope()).await), "a forgotten life has a new epoch");
    for n in 0..100 {
        let epoch = a.epoch_of(n).await;
        assert!(!before.contains(&epoch), "so have all of its entries");
        assert!(epoch == a.epoch_of(n).await, "what the first look finds stays, of an entry that was removed too");
    }
    assert!(b.epoch_of(0).await == kept, "another life's stays");
}

/// After it forgot a life nothing of it is found, and everything of another life is.
///
/// # Panics
/// When it is not so.
pub async fn forgets_everything_of_one_life(backend: &dyn CacheBackend) {
    let (a, b) = (Made::new(backend).await, Made::new(backend).await);
    let kept = b.key(Layer::Response, 1);
    b.put(&kept, b"b").await;
    for n in 0..50 {
        a.put(&a.key(Layer::Retrieval, n), b"a").await;
    }
    assert!(done(backend.left(&a.scope()).await).is_failed(), "it sees what is there");
    done(backend.forget(&a.scope()).await);
    done(backend.forget(&a.scope()).await);
    let left = done(backend.left(&a.scope()).await);
    assert!(!left.is_failed(), "nothing is reachable after it forgot");
    done(backend.epoch(&a.scope()).await);
    assert_eq!(b.get(&kept).await, Some(b"b".to_vec()), "another life stays");
    if left == StoreVerdict::Verified {
        for n in 0..50 {
            assert_eq!(a.get(&a.key(Layer::Retrieval, n)).await, None, "what is verified to be gone is gone");
        }
    }
}

/// What is put for a life that was forgotten is not kept, or the back end does not claim that nothing is left.
///
/// # Panics
/// When it does.
pub async fn is_honest_about_late_puts(backend: &dyn CacheBackend) {
    let life = Made::new(backend).await;
    let key = life.key(Layer::Response, 1);
    done(backend.forget(&life.scope()).await);
    done(backend.put(&life.scope(), &key, b"late".to_vec(), LATE).await);
    if life.get(&key).await.is_some() {
        assert!(done(backend.left(&life.scope()).await) != StoreVerdict::Verified, "a late put is still there");
    }
}

/// An entry is not found after its time.
///
/// # Panics
/// When it is. Takes two and a half seconds.
pub async fn lets_entries_expire(backend: &dyn CacheBackend) {
    let life = Made::new(backend).await;
    let (short, long) = (life.key(Layer::Response, 1), life.key(Layer::Response, 2));
    life.put(&long, b"long").await;
    assert_eq!(life.get(&short).await, None, "nothing was put");
    done(backend.put(&life.scope(), &short, b"short".to_vec(), Duration::from_secs(2)).await);
    assert_eq!(life.get(&short).await, Some(b"short".to_vec()), "it is there in its time");
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(life.get(&short).await, None, "an entry is gone after its time");
    assert_eq!(life.get(&long).await, Some(b"long".to_vec()), "one with more time is not");
}

/// How long after a removal a fill from before it may be there.
const LATE: Duration = Duration::from_secs(60);

/// A life that exists here only.
struct Made<'b> {
    backend: &'b dyn CacheBackend,
    tag: LifeTag,
}

impl<'b> Made<'b> {
    async fn new(backend: &'b dyn CacheBackend) -> Self {
        let made = Self { backend, tag: LifeTag::of_bytes(Uuid::new_v4().as_bytes(), Uuid::new_v4().as_bytes()) };
        done(backend.epoch(&made.scope()).await);
        made
    }

    const fn scope(&self) -> CacheScope<'_> {
        CacheScope::conformance(&self.tag)
    }

    fn key(&self, layer: Layer, n: u8) -> StoreKey {
        self.tag.key_of(layer, &[n; 32])
    }

    async fn get(&self, key: &StoreKey) -> Option<Vec<u8>> {
        done(self.backend.get(&self.scope(), key).await).bytes
    }

    /// That of the nth entry.
    async fn epoch_of(&self, n: u8) -> Epoch {
        done(self.backend.get(&self.scope(), &self.key(Layer::Retrieval, n)).await).epoch
    }

    /// As the layers do: after a look.
    async fn put(&self, key: &StoreKey, sealed: &[u8]) {
        let _found = done(self.backend.get(&self.scope(), key).await);
        done(self.backend.put(&self.scope(), key, sealed.to_vec(), Duration::from_secs(60)).await);
    }
}

#[expect(clippy::panic, reason = "the functions of this module report by panicking")]
fn done<T>(outcome: Result<T, BackendError>) -> T {
    match outcome {
        Ok(value) => value,
        Err(error) => panic!("the back end failed: {error}"),
    }
}
