//! Where entries are kept: the trait that users implement, and what it is called with.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tenancy_core::{Entered, ErasureScope, Life, RealmTag, StoreVerdict};

use crate::epoch::Epoch;
use crate::error::BackendError;
use crate::key::Name;
use crate::layer::Layer;

/// Keeps entries. Implemented by users, called by the scoped handles only; proved with
/// [`conformance::all`](crate::conformance::all).
///
/// A back end is not trusted with secrecy: it sees sealed bytes and keys that tell nothing. Nor with honesty: what it
/// returns must open for the very key that was asked. It is trusted to *forget*.
///
/// Every method may be dropped at any await; whether it took effect is open then.
#[async_trait]
pub trait CacheBackend: Send + Sync + 'static {
    /// The epoch of the life, for what is kept elsewhere; a random one, kept, if there is none.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn epoch(&self, scope: &CacheScope<'_>) -> Result<Epoch, BackendError>;

    /// The bytes under a key, nothing for a key of another scope; and the epoch that entries beside it have to be of, a
    /// random one, kept, if there is none. The epoch is the one now, not one remembered from an earlier call. A back end may
    /// keep several for the entries of one life, as long as [`forget`](Self::forget) changes them all.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn get(&self, scope: &CacheScope<'_>, key: &StoreKey) -> Result<Found, BackendError>;

    /// Keeps bytes for at most `ttl`. May keep nothing at all: it is a cache. What comes late for a life that was
    /// forgotten is not kept, or [`left`](Self::left) knows of it.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn put(
        &self,
        scope: &CacheScope<'_>,
        key: &StoreKey,
        sealed: Vec<u8>,
        ttl: Duration,
    ) -> Result<(), BackendError>;

    /// Removes an entry. No error when there is none.
    ///
    /// Where processes share the back end, the entry's epoch changes with it, so that what a fill puts that began before is
    /// not found: for so long as such a value could be there at all, `late`.
    ///
    /// # Errors
    /// [`BackendError`] whenever the entry may still be there.
    async fn remove(&self, scope: &CacheScope<'_>, key: &StoreKey, late: Duration) -> Result<(), BackendError>;

    /// Lets go of everything of the life in one step, its epoch too: the next one is new. The work must not grow with
    /// the number of entries.
    ///
    /// # Errors
    /// [`BackendError`] whenever the old epoch may still be there.
    async fn forget(&self, scope: &CacheScope<'_>) -> Result<(), BackendError>;

    /// Looks for what is left of the life and says honestly what it found out.
    ///
    /// # Errors
    /// [`BackendError`] when it can't look.
    async fn left(&self, scope: &CacheScope<'_>) -> Result<StoreVerdict, BackendError>;
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<B: CacheBackend + ?Sized> CacheBackend for Arc<B> {
    async fn epoch(&self, scope: &CacheScope<'_>) -> Result<Epoch, BackendError> {
        (**self).epoch(scope).await
    }

    async fn get(&self, scope: &CacheScope<'_>, key: &StoreKey) -> Result<Found, BackendError> {
        (**self).get(scope, key).await
    }

    async fn put(
        &self,
        scope: &CacheScope<'_>,
        key: &StoreKey,
        sealed: Vec<u8>,
        ttl: Duration,
    ) -> Result<(), BackendError> {
        (**self).put(scope, key, sealed, ttl).await
    }

    async fn remove(&self, scope: &CacheScope<'_>, key: &StoreKey, late: Duration) -> Result<(), BackendError> {
        (**self).remove(scope, key, late).await
    }

    async fn forget(&self, scope: &CacheScope<'_>) -> Result<(), BackendError> {
        (**self).forget(scope).await
    }

    async fn left(&self, scope: &CacheScope<'_>) -> Result<StoreVerdict, BackendError> {
        (**self).left(scope).await
    }
}

/// What a back end finds in one step.
pub struct Found {
    pub(crate) epoch: Epoch,
    pub(crate) bytes: Option<Vec<u8>>,
}

impl Found {
    /// The bytes under the key, if there are any, and the epoch that goes with them.
    #[must_use]
    pub const fn new(epoch: Epoch, bytes: Option<Vec<u8>>) -> Self {
        Self { epoch, bytes }
    }

    /// The epoch.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The bytes.
    #[must_use]
    pub fn into_bytes(self) -> Option<Vec<u8>> {
        self.bytes
    }
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Found({:?} bytes, ..)", self.bytes.as_ref().map(Vec::len))
    }
}

/// Whose entries. Built by this crate only, for one call that was let through; not `Clone` and never kept.
pub struct CacheScope<'a> {
    tag: &'a str,
}

impl<'a> CacheScope<'a> {
    /// The scope of a call in progress.
    pub(crate) const fn entered(_: &'a Entered<'_>, tag: &'a LifeTag) -> Self {
        Self::of(tag)
    }

    /// The scope of an erasure.
    pub(crate) const fn erasing(_: &'a ErasureScope<'_>, tag: &'a LifeTag) -> Self {
        Self::of(tag)
    }

    /// The scope of a life that exists in a test of a back end only.
    pub(crate) const fn conformance(tag: &'a LifeTag) -> Self {
        Self::of(tag)
    }

    const fn of(tag: &'a LifeTag) -> Self {
        Self { tag: tag.0.as_str() }
    }

    /// The name of realm and life: 64 lower-case hex digits, fit for a key, a pattern or a file.
    #[must_use]
    pub const fn tag(&self) -> &'a str {
        self.tag
    }
}

impl fmt::Debug for CacheScope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CacheScope(..)")
    }
}

/// Realm and life in hex, each of fixed length. Not derived with the life's key: an erasure must find the entries after
/// the key is gone.
#[derive(Clone)]
pub(crate) struct LifeTag(String);

impl LifeTag {
    pub(crate) fn new(realm: RealmTag, life: Life) -> Self {
        Self::of_bytes(realm.as_bytes(), life.uuid().as_bytes())
    }

    pub(crate) fn of_bytes(realm: &[u8; 16], life: &[u8; 16]) -> Self {
        Self(data_encoding::HEXLOWER.encode(&[*realm, *life].concat()))
    }

    pub(crate) fn key(&self, name: &Name) -> StoreKey {
        self.key_of(name.layer(), name.digest())
    }

    pub(crate) fn key_of(&self, layer: Layer, digest: &[u8; 32]) -> StoreKey {
        let mut hex = [0; 64];
        let hex = data_encoding::HEXLOWER.encode_mut_str(digest, &mut hex);
        let text = ["tc1:{", &self.0, ".", &hex[..1], "}:", layer.name(), ":", hex].concat();
        StoreKey { text, layer, part: digest[0] >> 4 }
    }
}

/// The name of an entry in a back end: `tc1:{TAG.B}:LAYER:DIGEST` with TAG as in [`CacheScope::tag`], B the first of the
/// digest's 64 hex digits, and a layer's name. Nothing in it needs escaping in a pattern or a tag, and the braces keep a
/// sixteenth of a life in one cluster slot.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct StoreKey {
    text: String,
    layer: Layer,
    part: u8,
}

impl StoreKey {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The layer.
    #[must_use]
    pub const fn layer(&self) -> Layer {
        self.layer
    }

    /// Whether the key belongs to a scope.
    #[must_use]
    pub fn is_of(&self, scope: &CacheScope<'_>) -> bool {
        self.text.strip_prefix("tc1:{").and_then(|rest| rest.split_once('.')).is_some_and(|(tag, _)| tag == scope.tag)
    }

    /// Which sixteenth of the life.
    #[must_use]
    pub const fn part(&self) -> u8 {
        self.part
    }
}

impl fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreKey({}, ..)", self.layer.name())
    }
}
