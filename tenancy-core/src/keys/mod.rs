//! Data keys: random per life and use, wrapped by a root key, kept apart from the data.
//!
//! A root key only wraps. What names and seals data hangs on random data keys, so the root can be rotated by wrapping
//! again, and destroying a tenant is deleting its wraps. A destroyed life leaves a tombstone: a late writer can't mint
//! a fresh key for it.

mod file;
mod keyring;
mod provider;
mod store;

pub use file::FileKeyStore;
pub(crate) use file::make_private_directory;
pub(crate) use keyring::{Keyring, LifeKeys, RealmKeys, SealKey};
pub use provider::{DataKey, KeyError, KeyProvider, LocalKeyProvider, RootKey, WrappedKey};
pub use store::{KeySlot, KeyStore, KeyStoreError, MemoryKeyStore};

/// Fills an array from the operating system's generator.
pub(crate) fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // The generator of a running Linux, macOS or Windows does not fail; without randomness nothing here is safe.
    #[expect(clippy::expect_used, reason = "no safe way to go on without randomness")]
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}
