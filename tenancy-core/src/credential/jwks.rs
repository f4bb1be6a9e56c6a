//! Where an issuer's public keys come from.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::key_set::KeySet;
use crate::redacted::{BoxError, Redacted};

/// An issuer's JSON Web Key Set, or where to get it. The operator's configuration, never a token's.
///
/// Each issuer keeps its own copy of the keys. It gets them again after an hour, or when a token names a key id it does
/// not have, at most once in ten seconds; if that fails, the keys it has are good for 24 hours.
#[derive(Clone)]
pub struct Jwks(pub(super) Origin);

#[derive(Clone)]
pub(super) enum Origin {
    Memory(Arc<KeySet>),
    Source(Arc<dyn JwksSource>),
}

impl Jwks {
    /// These keys, for as long as the process runs.
    ///
    /// # Errors
    /// [`JwksError`] when the set is malformed, repeats a key id or has no usable key.
    pub fn memory(json: &str) -> Result<Self, JwksError> {
        check_size(json.len())?;
        Ok(Self(Origin::Memory(Arc::new(KeySet::parse(json)?))))
    }

    /// The keys in a file, which is read here once to see that it can be.
    ///
    /// # Errors
    /// [`JwksError`] when the file can't be read or holds no usable set.
    pub fn file(path: impl Into<PathBuf>) -> Result<Self, JwksError> {
        let path = path.into();
        let json = read_capped(&path).map_err(unavailable)?;
        check_size(json.len())?;
        KeySet::parse(&json)?;
        Ok(Self::source(FileSource(path)))
    }

    /// The keys behind an `https` address: no redirects, no proxies, at most 256 KiB within 5 s. Nothing is fetched
    /// until the first token comes.
    ///
    /// # Errors
    /// [`JwksError::Address`] for another scheme or an address that holds a password,
    /// [`JwksError::Unavailable`] when there is no usable TLS on this machine.
    #[cfg(feature = "fetch")]
    pub fn url(url: &str) -> Result<Self, JwksError> {
        Ok(Self::source(super::fetch::HttpsSource::new(url)?))
    }

    /// Keys from anywhere else.
    #[must_use]
    pub fn source(source: impl JwksSource) -> Self {
        Self(Origin::Source(Arc::new(source)))
    }
}

impl fmt::Debug for Jwks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Origin::Memory(_) => "Jwks(memory)",
            Origin::Source(_) => "Jwks(source)",
        })
    }
}

/// Gets a key set as JSON text. Its address is the operator's configuration: nothing of a token reaches it.
///
/// One call runs at a time per issuer, in a task of its own that goes on when the request that needed it is dropped. It
/// has 5 s; an answer over 256 KiB is refused.
#[async_trait]
pub trait JwksSource: Send + Sync + 'static {
    /// Fetches the set.
    ///
    /// # Errors
    /// Any: the keys that are known stay.
    async fn fetch(&self) -> Result<String, BoxError>;
}

/// Why a key set was not accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JwksError {
    /// Not a JSON Web Key Set, or one that repeats a name within an object.
    #[error("not a JSON Web Key Set")]
    Malformed,
    /// Two keys of one id: which of them counts would be a guess.
    #[error("a key id occurs twice")]
    DuplicateKeyId,
    /// No key that could verify a signature. An empty answer is not a revocation of everything.
    #[error("no usable key: asymmetric, for signatures, RSA of 2048 bits or more")]
    NoUsableKey,
    /// More than 256 KiB.
    #[error("larger than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// Not an address that keys may come from.
    #[error("not a usable address: {0}")]
    Address(&'static str),
    /// The source did not answer, or not in time.
    #[error("the key source is unavailable")]
    Unavailable(#[source] Redacted<BoxError>),
}

/// Asks a source once, within the limits.
pub(super) async fn load(source: &dyn JwksSource) -> Result<KeySet, JwksError> {
    let json = tokio::time::timeout(FETCH_TIME, source.fetch()).await.map_err(unavailable)?;
    let json = json.map_err(unavailable)?;
    check_size(json.len())?;
    KeySet::parse(&json)
}

pub(super) fn unavailable(error: impl Into<BoxError>) -> JwksError {
    JwksError::Unavailable(Redacted::new(error.into()))
}

pub(super) const fn check_size(bytes: usize) -> Result<(), JwksError> {
    if bytes > MAX_BYTES { Err(JwksError::TooLarge { limit: MAX_BYTES }) } else { Ok(()) }
}

struct FileSource(PathBuf);

#[async_trait]
impl JwksSource for FileSource {
    async fn fetch(&self) -> Result<String, BoxError> {
        let path = self.0.clone();
        Ok(tokio::task::spawn_blocking(move || read_capped(&path)).await??)
    }
}

/// Reads at most one byte more than allowed, so that [`check_size`] sees it.
fn read_capped(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_BYTES as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

pub(super) const FETCH_TIME: Duration = Duration::from_secs(5);
const MAX_BYTES: usize = 256 * 1024;
