//! Signing keys, as the service holds them.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use data_encoding::HEXLOWER;
use secrecy::SecretString;
use tenancy_core::{Life, RowKey, Zeroizing};

use super::seal::{EVERY, KNOWN, seal, seal_word};
use crate::error::PgError;

/// A key that signs scopes, with its public id.
///
/// Whoever has it can be any tenant of the database: it belongs into the service's secrets and, by
/// [`signing_key_sql`](crate::signing_key_sql), into the database, and nowhere else. `Debug` prints the id alone.
#[derive(Clone)]
pub struct SigningKey {
    id: SigningKeyId,
    secret: Zeroizing<[u8; SECRET_BYTES]>,
}

impl SigningKey {
    /// A new random key with a new random id.
    #[must_use]
    #[expect(clippy::expect_used, reason = "without randomness from the system nothing can go on")]
    pub fn generate() -> Self {
        let mut secret = Zeroizing::new([0; SECRET_BYTES]);
        let mut id = [0; ID_BYTES];
        getrandom::fill(secret.as_mut_slice()).expect("the operating system gives random bytes");
        getrandom::fill(&mut id).expect("the operating system gives random bytes");
        let id = id.map(|byte| ID_ALPHABET[usize::from(byte) % ID_ALPHABET.len()]);
        Self { id: SigningKeyId(id), secret }
    }

    /// Reads the form that [`expose`](Self::expose) writes: the id, a dot, 64 lower-case hex digits.
    ///
    /// # Errors
    /// [`SigningKeyError`] for anything else; it quotes nothing.
    pub fn parse(text: &str) -> Result<Self, SigningKeyError> {
        let (id, hex) = text.split_once('.').ok_or(SigningKeyError::Form)?;
        let bytes = Zeroizing::new(HEXLOWER.decode(hex.as_bytes()).map_err(|_| SigningKeyError::Form)?);
        let secret =
            Zeroizing::new(<[u8; SECRET_BYTES]>::try_from(bytes.as_slice()).map_err(|_| SigningKeyError::Form)?);
        Ok(Self { id: SigningKeyId::parse(id)?, secret })
    }

    /// The key as a text, for the store of the service's secrets. [`parse`](Self::parse) reads it back.
    #[must_use]
    pub fn expose(&self) -> SecretString {
        format!("{}.{}", self.id, HEXLOWER.encode(self.secret.as_slice())).into()
    }

    /// The public id.
    #[must_use]
    pub const fn id(&self) -> &SigningKeyId {
        &self.id
    }

    pub(super) fn secret(&self) -> &[u8; SECRET_BYTES] {
        &self.secret
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.id)
    }
}

/// The id of a [`SigningKey`]: 8 ASCII letters or digits. Not a secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SigningKeyId([u8; ID_BYTES]);

impl SigningKeyId {
    /// Reads an id.
    ///
    /// # Errors
    /// [`SigningKeyError::Id`] for anything but 8 ASCII letters or digits.
    pub fn parse(text: &str) -> Result<Self, SigningKeyError> {
        match <[u8; ID_BYTES]>::try_from(text.as_bytes()) {
            Ok(id) if id.iter().all(u8::is_ascii_alphanumeric) => Ok(Self(id)),
            _other => Err(SigningKeyError::Id),
        }
    }

    /// The id as a text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // Only ASCII gets in, so the empty text is never seen.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for SigningKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for SigningKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKeyId({self})")
    }
}

/// The key that signs now, shared by every clone, so that a running service can go over to the next one.
///
/// The database accepts two keys at a time, which is what makes a change without a gap possible; see
/// [`signing_key_sql`](crate::signing_key_sql).
#[derive(Clone)]
pub struct SigningKeys(Arc<RwLock<SigningKey>>);

impl SigningKeys {
    /// Signs with this key.
    #[must_use]
    pub fn new(current: SigningKey) -> Self {
        Self(Arc::new(RwLock::new(current)))
    }

    /// Signs with this key from now on, in every clone. The database has to know it already: transactions that are
    /// opened before it does are refused. Open ones go on under the key that they began with.
    pub fn sign_with(&self, next: SigningKey) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = next;
    }

    /// The id of the key that signs now.
    #[must_use]
    pub fn current(&self) -> SigningKeyId {
        self.0.read().unwrap_or_else(PoisonError::into_inner).id
    }

    /// The value of [`SEAL_SETTING`](super::SEAL_SETTING) for the transaction whose opening batch returned this nonce.
    ///
    /// # Errors
    /// [`PgError::RowKeyType`] for a row key of a kind that this version does not know.
    pub(crate) fn seal(&self, row_key: &RowKey, life: Life, nonce: &str) -> Result<Zeroizing<String>, PgError> {
        seal(&self.0.read().unwrap_or_else(PoisonError::into_inner), row_key, life, nonce)
    }

    /// The value of [`REACH_SETTING`](super::REACH_SETTING) for the transaction whose opening batch returned this nonce.
    pub(crate) fn seal_every(&self, nonce: &str) -> Zeroizing<String> {
        seal_word(&self.0.read().unwrap_or_else(PoisonError::into_inner), EVERY, nonce)
    }

    /// The id of the key that signs now, and what shows in the transaction with this nonce that it is in the server's hands
    /// too.
    pub(super) fn seal_known(&self, nonce: &str) -> (SigningKeyId, Zeroizing<String>) {
        let key = self.0.read().unwrap_or_else(PoisonError::into_inner);
        (key.id, seal_word(&key, KNOWN, nonce))
    }
}

impl fmt::Debug for SigningKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKeys({})", self.current())
    }
}

/// Why a text is no signing key. It quotes nothing of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SigningKeyError {
    /// Not an id, a dot and 64 lower-case hex digits.
    #[error("a signing key is an id, a dot and 64 lower-case hex digits")]
    Form,
    /// Not an id.
    #[error("the id of a signing key is {ID_BYTES} ASCII letters or digits")]
    Id,
}

const ID_BYTES: usize = 8;
const SECRET_BYTES: usize = 32;
/// 32 characters, so that every byte is as likely as any other; none is easily read as another.
const ID_ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn a_key_is_read_back_as_it_was_written_and_shows_nothing_else() {
        let key = SigningKey::generate();
        let text = key.expose();
        let again = SigningKey::parse(text.expose_secret()).unwrap();
        assert_eq!((again.id(), again.secret()), (key.id(), key.secret()));
        assert_ne!(SigningKey::generate().secret(), key.secret());
        let shown = format!("{key:?} {text:?} {:?}", SigningKeys::new(key.clone()));
        assert!(shown.contains(key.id().as_str()) && !shown.contains(&HEXLOWER.encode(key.secret())), "{shown}");
    }

    #[test]
    fn what_is_no_key_is_refused_and_not_quoted() {
        let hex = "0123456789abcdef".repeat(4);
        assert!(SigningKey::parse(&format!("Key00001.{hex}")).is_ok());
        for text in [
            String::new(),
            hex.clone(),
            format!("short.{hex}"),
            format!("Key 0001.{hex}"),
            format!("Kéy0001.{hex}"),
            format!("Key00001.{}", hex.to_uppercase()),
            format!("Key00001.{hex}0"),
            format!("Key00001.{}", &hex[2..]),
            format!("Key00001.{hex}\n"),
            format!("Key00001:{hex}"),
        ] {
            let error = SigningKey::parse(&text).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("0123456789"), "{text}");
        }
    }

    #[test]
    fn every_clone_goes_over_to_the_next_key() {
        let (first, second) = (SigningKey::generate(), SigningKey::generate());
        let keys = SigningKeys::new(first.clone());
        let clone = keys.clone();
        assert_eq!(clone.current(), *first.id());
        keys.sign_with(second.clone());
        assert_eq!(clone.current(), *second.id());
    }
}
