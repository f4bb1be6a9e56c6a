//! Names of the vectors that a point has.

use std::fmt;
use std::sync::Arc;

use crate::error::VectorError;

/// The name of one of the vectors of a point: 1 to 64 of `[a-z0-9_]`. Part of a [`Schema`](crate::Schema), so the same
/// for all tenants of a store.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VectorName(Arc<str>);

impl VectorName {
    /// Parses a name.
    ///
    /// # Errors
    /// [`VectorError::BadName`].
    pub fn parse(text: &str) -> Result<Self, VectorError> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if text.is_empty() || text.len() > MAX_BYTES || !text.bytes().all(plain) {
            return Err(VectorError::BadName);
        }
        Ok(Self(text.into()))
    }

    /// The dense vector of [`Schema::dense`](crate::Schema::dense) and [`Schema::hybrid`](crate::Schema::hybrid).
    #[must_use]
    pub fn dense() -> Self {
        Self("dense".into())
    }

    /// The sparse vector of [`Schema::hybrid`](crate::Schema::hybrid).
    #[must_use]
    pub fn sparse() -> Self {
        Self("sparse".into())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for VectorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VectorName({})", self.0)
    }
}

const MAX_BYTES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_plain() {
        for good in ["dense", "title_v2", "0", &"a".repeat(64)] {
            assert!(VectorName::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "Dense", "a b", "a.b", "ä", "\"a\"", &"a".repeat(65)] {
            assert!(matches!(VectorName::parse(bad), Err(VectorError::BadName)), "{bad}");
        }
    }
}
