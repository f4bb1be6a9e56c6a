//! The cache epoch: one random word per life, to which every value is sealed.

use std::fmt;

use uuid::Uuid;

/// The epoch of one life's entries. The back end keeps it beside them, so a flush reaches every process that shares the
/// back end. Random and not counted: a counter that is lost starts again and brings back what it named before; a lost
/// epoch only leaves a cold cache.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Epoch(Uuid);

impl Epoch {
    /// A new epoch.
    #[must_use]
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }

    /// An epoch that a back end kept.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// Another word wherever either is another.
    #[cfg(feature = "redis")]
    pub(crate) fn and(self, word: [u8; 16]) -> Self {
        Self(Uuid::from_u128(self.0.as_u128() ^ u128::from_be_bytes(word)))
    }

    /// The bytes to keep.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Epoch(..)")
    }
}
