//! What a tenant's keys may be used for.
//!
//! The purposes named here are those other crates derive *names of data* for. What gives authority (tickets, grants,
//! API keys, cursors) has purposes of its own that are private to this crate: nothing outside can reach their keys.

use std::fmt;
use std::marker::PhantomData;

/// A use of the tenant's naming key. Sealed: the list is closed.
pub trait DataPurpose: sealed::Sealed + Send + Sync + 'static {
    #[doc(hidden)]
    const INDEX: usize;
}

macro_rules! data_purposes {
    ($($(#[$doc:meta])* $name:ident = $index:literal, $label:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            #[non_exhaustive]
            pub struct $name;
            impl sealed::Sealed for $name {}
            impl DataPurpose for $name { const INDEX: usize = $index; }
        )*
        /// The derivation context of each purpose, in the order of their indices.
        pub(crate) const DATA_LABELS: &[&str] = &[$($label),*];
    };
}

data_purposes! {
    /// Keys of cache entries.
    CacheKey = 0, "tenancy 2026-11-29 cache key v1";
    /// Ids of points in a vector index.
    PointId = 1, "tenancy 2026-11-29 point id v1";
    /// Names of directories.
    Directory = 2, "tenancy 2026-11-29 directory name v1";
    /// Names of collections and shard keys.
    Collection = 3, "tenancy 2026-11-29 collection name v1";
    /// Salts of an inference engine's prefix cache.
    EngineSalt = 4, "tenancy 2026-11-29 engine salt v1";
    /// Names of locks.
    Lock = 5, "tenancy 2026-11-29 lock name v1";
    /// Names of channels that messages go through.
    Channel = 6, "tenancy 2026-11-29 channel name v1";
}

/// 32 bytes derived for one purpose under one life, never truncated. Not made from text or bytes, and `Debug` shows
/// nothing of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest<P: DataPurpose> {
    bytes: [u8; 32],
    purpose: PhantomData<fn() -> P>,
}

impl<P: DataPurpose> Digest<P> {
    pub(crate) const fn new(bytes: [u8; 32]) -> Self {
        Self { bytes, purpose: PhantomData }
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// 64 lower-case hex digits.
    #[must_use]
    pub fn to_hex(&self) -> String {
        data_encoding::HEXLOWER.encode(&self.bytes)
    }
}

impl<P: DataPurpose> fmt::Debug for Digest<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(..)")
    }
}

/// A use of the tenant's sealing keys. Sealed: the list is closed.
pub trait SealPurpose: sealed::Sealed + Send + Sync + 'static {
    #[doc(hidden)]
    const INDEX: usize;
}

macro_rules! seal_purposes {
    ($($(#[$doc:meta])* $vis:vis $name:ident = $index:literal, $label:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            #[non_exhaustive]
            $vis struct $name;
            impl sealed::Sealed for $name {}
            impl SealPurpose for $name { const INDEX: usize = $index; }
        )*
        /// The derivation context of each purpose, in the order of their indices.
        pub(crate) const SEAL_LABELS: &[&str] = &[$($label),*];
    };
}

seal_purposes! {
    /// Values in caches.
    pub CacheValue = 0, "tenancy 2026-11-29 cache value v1";
    /// Stored documents, prompts and transcripts.
    pub Document = 1, "tenancy 2026-11-29 document v1";
    /// Payloads of queued jobs.
    pub JobPayload = 2, "tenancy 2026-11-29 job payload v1";
    /// Positions in a listing. Private: a cursor is made by [`TenantContext::cursor`](crate::TenantContext::cursor).
    pub(crate) Cursor = 3, "tenancy 2026-11-29 cursor v1";
    /// Messages in channels.
    pub Message = 4, "tenancy 2026-11-29 channel message v1";
}

/// Purposes of the realm's own keys. Private as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RealmPurpose {
    Identity = 0,
    Ticket = 1,
    ApiKey = 2,
    Corpus = 3,
}

pub(crate) const REALM_LABELS: &[&str] = &[
    "tenancy 2026-11-29 realm identity v1",
    "tenancy 2026-11-29 job ticket v1",
    "tenancy 2026-11-29 api key v1",
    "tenancy 2026-11-29 shared corpus v1",
];

mod sealed {
    pub trait Sealed {}
}
