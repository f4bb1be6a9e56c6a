//! The cache epoch: one random word per life, in every key.

use std::fmt;

use uuid::Uuid;

/// The epoch of one life's entries. The back end keeps it beside them, so a flush reaches every process that shares the
/// back end. Random and not counted: a counter that is lost starts again and brings back what it named before; a lost
/// epoch only leaves a cold cache.
#[derive(Clone, Copy, PartialEq, Eq)]
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

    /// The bytes to keep.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    pub(crate) const fn uuid(self) -> Uuid {
        self.0
    }
}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Epoch(..)")
    }
}
