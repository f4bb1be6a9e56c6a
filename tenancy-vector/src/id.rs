//! What a caller calls a point, and what the engine calls it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use tenancy_core::Fields;
use tenancy_core::purpose::{Digest, PointId};
use uuid::Uuid;

use crate::error::VectorError;

/// What a caller calls a point: 1 to 512 bytes of any text, compared by bytes, without normalisation.
///
/// It means something within one tenant only. Two tenants may use the same one.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExternalId(Arc<str>);

impl ExternalId {
    /// The most bytes of an external id.
    pub const MAX_BYTES: usize = 512;

    /// Parses an external id.
    ///
    /// # Errors
    /// [`VectorError::IdEmpty`], [`VectorError::IdTooLong`].
    pub fn parse(text: &str) -> Result<Self, VectorError> {
        if text.is_empty() {
            return Err(VectorError::IdEmpty);
        }
        if text.len() > Self::MAX_BYTES {
            return Err(VectorError::IdTooLong { limit: Self::MAX_BYTES });
        }
        Ok(Self(text.into()))
    }

    /// The id as text, for the tenant's own eyes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ExternalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExternalId({} bytes)", self.0.len())
    }
}

/// What the engine calls a point: 32 bytes that no other tenant, life or realm has for the same external id.
///
/// A known external id is of no use across the boundary. Deriving without a key, or joining the tenant and the id with
/// a separator, has let one tenant compute or collide with another's points elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PointKey([u8; 32]);

/// By its first eight bytes: it is a keyed hash, of which nobody chooses any.
impl Hash for PointKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        state.write_u64(u64::from_le_bytes([a, b, c, d, e, f, g, h]));
    }
}

impl PointKey {
    /// What a key is derived from, under the keys of whose point it is.
    pub(crate) fn fields(id: &ExternalId) -> Fields {
        let mut fields = Fields::new();
        fields.text(1, id.as_str());
        fields
    }

    pub(crate) const fn of(digest: &Digest<PointId>) -> Self {
        Self(*digest.as_bytes())
    }

    pub(crate) const fn of_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key of a [`digest`](Self::digest).
    pub(crate) fn of_digest(digest: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if digest.len() != 64 || !digest.is_ascii() {
            return None;
        }
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(digest.get(at..at + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    pub(crate) const fn to_bytes(self) -> [u8; 32] {
        self.0
    }

    /// The id to use in the engine: a uuid of version 8 made from the first 16 bytes.
    ///
    /// Engines take 128 bits at most, so this alone does not name the point. [`digest`](Self::digest) does, and is
    /// kept in the point's tag and compared on every way back.
    #[must_use]
    pub fn engine_id(&self) -> Uuid {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&self.0[..16]);
        Uuid::new_v8(bytes)
    }

    /// All 32 bytes as 64 lower-case hex digits.
    #[must_use]
    pub fn digest(&self) -> String {
        self.digits().into_iter().map(char::from).collect()
    }

    /// Whether this is its [`digest`](Self::digest). Asked of each hit.
    pub(crate) fn has_digest(&self, text: &str) -> bool {
        text.as_bytes() == self.digits()
    }

    fn digits(&self) -> [u8; 64] {
        let mut digits = [0; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
        digits
    }
}

impl fmt::Debug for PointKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PointKey(..)")
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_between_one_and_512_bytes() {
        assert!(ExternalId::parse("é").is_ok());
        assert!(ExternalId::parse(&"a".repeat(512)).is_ok());
        assert!(matches!(ExternalId::parse(""), Err(VectorError::IdEmpty)));
        assert!(matches!(ExternalId::parse(&"a".repeat(513)), Err(VectorError::IdTooLong { limit: 512 })));
        assert!(
            matches!(ExternalId::parse(&"é".repeat(257)), Err(VectorError::IdTooLong { .. })),
            "bytes, not letters"
        );
    }

    #[test]
    fn nothing_of_an_id_is_printed() {
        assert_eq!(format!("{:?}", ExternalId::parse("payroll").unwrap()), "ExternalId(7 bytes)");
    }

    #[test]
    fn keys_that_share_an_engine_id_differ_in_their_digest() {
        let mut other = [7; 32];
        other[31] = 8;
        let (one, two) = (PointKey::of_bytes([7; 32]), PointKey::of_bytes(other));
        assert_eq!(one.engine_id(), two.engine_id());
        let other_digest = two.digest();
        assert_ne!(one.digest(), other_digest);
        assert_eq!(one.digest(), "07".repeat(32));
        assert_eq!(PointKey::of_bytes([0xaf; 32]).digest(), "af".repeat(32));
        let (digest, af) = (one.digest(), PointKey::of_bytes([0xaf; 32]));
        assert!(one.has_digest(&digest) && af.has_digest(&af.digest()));
        let longer = format!("{digest}07");
        for wrong in [other_digest.as_str(), "", &digest[..62], &longer, &digest[1..]] {
            assert!(!one.has_digest(wrong), "{wrong}");
        }
        assert!(!af.has_digest(&af.digest().to_uppercase()));
        assert_eq!(one.engine_id().get_version_num(), 8);
    }
}
