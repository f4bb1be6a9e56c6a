//! Who wraps data keys: a root key on this machine, or a customer's key management through the seam.

use std::fmt;
use std::fs;
use std::path::Path;

use async_trait::async_trait;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use secrecy::{ExposeSecret, SecretSlice};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{KeySlot, random_bytes};
use crate::redacted::{BoxError, Redacted};

/// 32 random bytes on their way between a [`KeyProvider`] and this crate. Zeroised when dropped.
pub struct DataKey(Zeroizing<[u8; 32]>);

impl DataKey {
    /// Takes what a provider unwrapped.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    pub(crate) fn random() -> Self {
        Self::new(random_bytes())
    }

    /// The bytes, for the provider that wraps them.
    #[must_use]
    pub fn expose_secret(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for DataKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DataKey(..)")
    }
}

/// A data key under a root key, safe to store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WrappedKey {
    /// Which root key wrapped it.
    pub root: String,
    /// The ciphertext.
    #[serde(with = "hex_bytes")]
    pub bytes: Vec<u8>,
}

impl WrappedKey {
    /// A wrap made by `root`.
    #[must_use]
    pub fn new(root: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { root: root.into(), bytes }
    }
}

/// Wraps and unwraps data keys: the seam for a customer's key management service.
///
/// Dropping a call leaves nothing half-done that matters: an unwrapped key is zeroised, a wrap nobody stored is lost.
#[async_trait]
pub trait KeyProvider: Send + Sync + 'static {
    /// Wraps a key, binding the slot's associated data.
    ///
    /// # Errors
    /// [`KeyError`].
    async fn wrap(&self, slot: KeySlot<'_>, key: &DataKey) -> Result<WrappedKey, KeyError>;

    /// Unwraps a key that [`wrap`](Self::wrap) made for the same slot.
    ///
    /// # Errors
    /// [`KeyError`], also when the wrap was made for another slot.
    async fn unwrap(&self, slot: KeySlot<'_>, wrapped: &WrappedKey) -> Result<DataKey, KeyError>;
}

/// Why a provider refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The root key that made the wrap is not there any more.
    #[error("no root key of the id that made the wrap")]
    RootUnknown,
    /// The wrap does not open: altered, or made for another slot.
    #[error("the wrapped key does not open")]
    Refused,
    /// The text or file is not a usable root key.
    #[error("not a root key: {0}")]
    BadRoot(&'static str),
    /// The provider did not answer.
    #[error("the key provider is unavailable")]
    Unavailable(#[source] Redacted<BoxError>),
}

/// A 256-bit root key on this machine.
pub struct RootKey {
    id: String,
    secret: SecretSlice<u8>,
}

impl RootKey {
    /// A new random root key.
    #[must_use]
    pub fn generate() -> Self {
        Self::of(random_bytes::<32>())
    }

    /// Parses 64 hex digits.
    ///
    /// # Errors
    /// [`KeyError::BadRoot`] for anything else, all zeroes included.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let bytes = Zeroizing::new(
            data_encoding::HEXLOWER_PERMISSIVE
                .decode(text.trim().as_bytes())
                .map_err(|_| KeyError::BadRoot("expected 64 hex digits"))?,
        );
        let bytes: [u8; 32] = bytes.as_slice().try_into().map_err(|_| KeyError::BadRoot("expected 64 hex digits"))?;
        if bytes == [0; 32] {
            return Err(KeyError::BadRoot("all zeroes"));
        }
        Ok(Self::of(bytes))
    }

    /// Reads 64 hex digits from a file that only its owner may read.
    ///
    /// # Errors
    /// [`KeyError::BadRoot`] when the file is readable by others or holds something else,
    /// [`KeyError::Unavailable`] when it can't be read.
    pub fn from_file(path: &Path) -> Result<Self, KeyError> {
        let unavailable = |e: std::io::Error| KeyError::Unavailable(Redacted::new(e.into()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            if fs::metadata(path).map_err(unavailable)?.permissions().mode() & 0o077 != 0 {
                return Err(KeyError::BadRoot("the file is open to others: chmod 600"));
            }
        }
        let text = Zeroizing::new(fs::read_to_string(path).map_err(unavailable)?);
        Self::parse(&text)
    }

    fn of(bytes: [u8; 32]) -> Self {
        let id = blake3::derive_key("tenancy 2026-11-29 root key id v1", &bytes);
        Self { id: data_encoding::HEXLOWER.encode(&id[..8]), secret: bytes.to_vec().into() }
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        let key = blake3::derive_key("tenancy 2026-11-29 key wrap v1", self.secret.expose_secret());
        XChaCha20Poly1305::new(&key.into())
    }
}

impl fmt::Debug for RootKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RootKey({})", self.id)
    }
}

/// Wraps with a root key held by this process. Older root keys still unwrap, so a rotation needs no downtime.
#[derive(Debug)]
pub struct LocalKeyProvider {
    current: RootKey,
    previous: Vec<RootKey>,
}

impl LocalKeyProvider {
    /// Wraps and unwraps with `current`.
    #[must_use]
    pub const fn new(current: RootKey) -> Self {
        Self { current, previous: Vec::new() }
    }

    /// Also unwraps what an older root key wrapped.
    #[must_use]
    pub fn with_previous(mut self, root: RootKey) -> Self {
        self.previous.push(root);
        self
    }
}

#[async_trait]
impl KeyProvider for LocalKeyProvider {
    async fn wrap(&self, slot: KeySlot<'_>, key: &DataKey) -> Result<WrappedKey, KeyError> {
        let nonce: [u8; NONCE] = random_bytes();
        let payload = Payload { msg: key.expose_secret(), aad: &slot.associated_data() };
        let sealed = self.current.cipher().encrypt(&XNonce::from(nonce), payload).map_err(|_| KeyError::Refused)?;
        Ok(WrappedKey::new(self.current.id.clone(), [&nonce[..], &sealed].concat()))
    }

    async fn unwrap(&self, slot: KeySlot<'_>, wrapped: &WrappedKey) -> Result<DataKey, KeyError> {
        let root = std::iter::once(&self.current)
            .chain(&self.previous)
            .find(|root| root.id == wrapped.root)
            .ok_or(KeyError::RootUnknown)?;
        let (nonce, sealed) = wrapped.bytes.split_first_chunk::<NONCE>().ok_or(KeyError::Refused)?;
        let payload = Payload { msg: sealed, aad: &slot.associated_data() };
        let opened =
            Zeroizing::new(root.cipher().decrypt(&XNonce::from(*nonce), payload).map_err(|_| KeyError::Refused)?);
        Ok(DataKey::new(opened.as_slice().try_into().map_err(|_| KeyError::Refused)?))
    }
}

const NONCE: usize = 24;

mod hex_bytes {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&data_encoding::HEXLOWER.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        data_encoding::HEXLOWER.decode(text.as_bytes()).map_err(|_| D::Error::custom("expected hex"))
    }
}
