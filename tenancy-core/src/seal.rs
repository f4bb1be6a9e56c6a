//! Sealing: a value that opens only for its life, its use, its place, its schema and before its expiry.
//!
//! ```text
//! version u8 | realm tag 16 | life 16 | key id 8 | schema u16 | expiry u64, seconds, 0 = none | nonce 24 | ciphertext
//! ```
//!
//! XChaCha20-Poly1305 under the life's key; everything before the nonce, the purpose and the caller's *place* (the full
//! key digest of a cache entry, say) are bound as associated data. A reply that belongs to another question fails to
//! open, which is what stops the kind of fault where a shared connection hands out its neighbour's answer
//! (redis-py 2624, the ChatGPT incident of March 2023): no derivation of keys can.

use std::fmt;
use std::marker::PhantomData;
use std::time::SystemTime;

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use crate::clock::unix_seconds;
use crate::denial::{Denial, SealFault};
use crate::encode::Fields;
use crate::id::Life;
use crate::keys::{SealKey, random_bytes};
use crate::purpose::SealPurpose;
use crate::realm::RealmTag;

/// A sealed value of purpose `P`: bytes to store anywhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed<P: SealPurpose> {
    bytes: Vec<u8>,
    purpose: PhantomData<fn() -> P>,
}

impl<P: SealPurpose> Sealed<P> {
    pub(crate) const fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, purpose: PhantomData }
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, taken out.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl<P: SealPurpose> fmt::Debug for Sealed<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealed({} bytes)", self.bytes.len())
    }
}

/// What a value is sealed to.
#[derive(Clone, Copy)]
pub(crate) struct Seal<'a> {
    pub(crate) realm: RealmTag,
    pub(crate) life: Life,
    pub(crate) key: &'a SealKey,
    pub(crate) schema: u16,
    pub(crate) place: &'a Fields,
}

impl Seal<'_> {
    pub(crate) fn close(&self, expires: Option<SystemTime>, plain: &[u8]) -> Result<Vec<u8>, Denial> {
        let mut bytes = Vec::with_capacity(HEADER + NONCE + plain.len() + TAG);
        bytes.push(VERSION);
        bytes.extend_from_slice(self.realm.as_bytes());
        bytes.extend_from_slice(self.life.uuid().as_bytes());
        bytes.extend_from_slice(&self.key.id);
        bytes.extend_from_slice(&self.schema.to_le_bytes());
        bytes.extend_from_slice(&expires.map_or(0, unix_seconds).to_le_bytes());
        let nonce: [u8; NONCE] = random_bytes();
        let sealed = self
            .cipher()
            .encrypt(&XNonce::from(nonce), Payload { msg: plain, aad: &self.associated(&bytes) })
            .map_err(|_| SealFault::Malformed)?;
        bytes.extend_from_slice(&nonce);
        bytes.extend_from_slice(&sealed);
        Ok(bytes)
    }

    /// Opens what [`close`](Self::close) made for the same realm, life, key, schema and place.
    pub(crate) fn open(&self, bytes: &[u8], now: SystemTime) -> Result<Zeroizing<Vec<u8>>, Denial> {
        let (header, rest) = bytes.split_first_chunk::<HEADER>().ok_or(SealFault::Malformed)?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE>().ok_or(SealFault::Malformed)?;
        let (version, fields) = header.split_at(1);
        if version != [VERSION] {
            return Err(SealFault::Malformed.into());
        }
        // Who owns it is told apart for the operator; both wear the face of a value that does not exist.
        if &fields[..16] != self.realm.as_bytes() {
            return Err(Denial::ForeignRealm);
        }
        if fields[16..32] != *self.life.uuid().as_bytes() {
            return Err(Denial::WrongLife);
        }
        if fields[32..40] != self.key.id {
            return Err(SealFault::KeyUnknown.into());
        }
        if fields[40..42] != self.schema.to_le_bytes() {
            return Err(SealFault::Refused.into());
        }
        let opened = self
            .cipher()
            .decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: &self.associated(header) })
            .map_err(|_| SealFault::Refused)?;
        let opened = Zeroizing::new(opened);
        let mut expiry = [0; 8];
        expiry.copy_from_slice(&fields[42..50]);
        match u64::from_le_bytes(expiry) {
            0 => Ok(opened),
            seconds if unix_seconds(now) >= seconds => Err(SealFault::Expired.into()),
            _ => Ok(opened),
        }
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&*self.key.secret).into())
    }

    /// The header is of fixed length and the place is an injective encoding, so their concatenation is injective.
    fn associated(&self, header: &[u8]) -> Vec<u8> {
        [header, self.place.as_bytes()].concat()
    }
}

/// The life that sealed bytes say they belong to, unverified.
pub(crate) fn claimed_life(bytes: &[u8]) -> Option<Life> {
    let id = bytes.get(17..33)?.try_into().ok()?;
    Life::parse(&uuid::Uuid::from_bytes(id).to_string()).ok()
}

const VERSION: u8 = 1;
const HEADER: usize = 1 + 16 + 16 + 8 + 2 + 8;
const NONCE: usize = 24;
const TAG: usize = 16;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn place(text: &str) -> Fields {
        let mut fields = Fields::new();
        fields.text(1, text);
        fields
    }

    #[test]
    fn a_value_opens_for_its_own_scope_only() {
        let key = SealKey::new(Zeroizing::new([7; 32]));
        let other_key = SealKey::new(Zeroizing::new([8; 32]));
        let here = place("here");
        let there = place("there");
        let seal =
            Seal { realm: RealmTag::of_bytes([1; 16]), life: Life::random(), key: &key, schema: 3, place: &here };
        let now = SystemTime::now();
        let bytes = seal.close(Some(now + Duration::from_secs(60)), b"secret").unwrap();
        assert_eq!(seal.open(&bytes, now).unwrap().as_slice(), b"secret");
        let refused = |seal: Seal<'_>, why: Denial| assert_eq!(seal.open(&bytes, now).unwrap_err(), why);
        refused(Seal { realm: RealmTag::of_bytes([2; 16]), ..seal }, Denial::ForeignRealm);
        refused(Seal { life: Life::random(), ..seal }, Denial::WrongLife);
        refused(Seal { key: &other_key, ..seal }, SealFault::KeyUnknown.into());
        refused(Seal { schema: 4, ..seal }, SealFault::Refused.into());
        refused(Seal { place: &there, ..seal }, SealFault::Refused.into());
        assert_eq!(seal.open(&bytes, now + Duration::from_secs(61)).unwrap_err(), SealFault::Expired.into());
    }

    proptest! {
        #[test]
        fn any_changed_byte_is_refused(at in 0usize..200, flip in 1u8..) {
            let key = SealKey::new(Zeroizing::new([7; 32]));
            let here = place("here");
            let life = Life::random();
            let seal = Seal { realm: RealmTag::of_bytes([1; 16]), life, key: &key, schema: 3, place: &here };
            let mut bytes = seal.close(None, &[5; 150]).unwrap();
            let at = at % bytes.len();
            bytes[at] ^= flip;
            prop_assert!(seal.open(&bytes, SystemTime::now()).is_err());
            bytes.truncate(at);
            prop_assert!(seal.open(&bytes, SystemTime::now()).is_err());
        }
    }
}
