//! Names of things: tenants, lives, subjects, realms, regions, requests.
//!
//! Every name is made by a parser that rejects; nothing past it checks again. `Debug` of a name that belongs to a
//! customer prints a fingerprint keyed per process, so that a log line can be followed but not read.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The name of a tenant: 1 to 128 bytes of `[A-Za-z0-9_-]`, starting with a letter or digit, compared by bytes.
///
/// Holding one opens nothing: only a [`TenantContext`](crate::TenantContext) does.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TenantId(Arc<str>);

impl TenantId {
    /// Parses a tenant name.
    ///
    /// # Errors
    /// [`IdError`] for an empty or too long text, a byte outside the alphabet, a leading `-` or `_`, or a word that
    /// programs use for "nothing" or "everything" (`null`, `default`, `all`, ...), in any case.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let first = text.bytes().next().ok_or(IdError::Empty)?;
        if text.len() > MAX_TENANT_BYTES {
            return Err(IdError::TooLong { limit: MAX_TENANT_BYTES });
        }
        if !first.is_ascii_alphanumeric() {
            return Err(IdError::BadStart);
        }
        if !text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') {
            return Err(IdError::BadByte);
        }
        if RESERVED.iter().any(|word| word.eq_ignore_ascii_case(text)) {
            return Err(IdError::Reserved);
        }
        Ok(Self(text.into()))
    }

    /// The name as text, for the tenant's own eyes and the operator's configuration.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantId({})", fingerprint(self.0.as_bytes()))
    }
}

/// Who acts: the `sub` of a credential, meaningful together with its issuer. 1 to 256 bytes without control characters.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubjectId(Arc<str>);

impl SubjectId {
    /// Parses a subject.
    ///
    /// # Errors
    /// [`IdError`] for an empty or too long text or one with control characters.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        if text.is_empty() {
            return Err(IdError::Empty);
        }
        if text.len() > MAX_SUBJECT_BYTES {
            return Err(IdError::TooLong { limit: MAX_SUBJECT_BYTES });
        }
        if text.chars().any(char::is_control) {
            return Err(IdError::BadByte);
        }
        Ok(Self(text.into()))
    }

    /// The subject as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SubjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SubjectId({})", fingerprint(self.0.as_bytes()))
    }
}

/// One life of a tenant: a random uuid that survives a rename and is never used again after an erasure.
///
/// Stores hold the life, never the name, so nothing of an erased tenant resurfaces under a reused name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Life(Uuid);

impl Life {
    /// A new random life.
    #[must_use]
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }

    /// What stores keep of a shared corpus in the place of a life.
    pub(crate) fn of_corpus(mark: [u8; 16]) -> Self {
        // Of version 8, which no directory may give to a tenant.
        Self(uuid::Builder::from_custom_bytes(mark).into_uuid())
    }

    /// Whether it can be a tenant's, and is no corpus' mark.
    pub(crate) fn is_a_tenants(self) -> bool {
        self.0.get_version_num() != 8
    }

    /// Parses the hyphenated or simple form of a uuid.
    ///
    /// # Errors
    /// [`IdError::NotAUuid`] for anything else, the nil uuid included: it is what forgotten fields hold.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let id = Uuid::try_parse(text).map_err(|_| IdError::NotAUuid)?;
        if id.is_nil() { Err(IdError::NotAUuid) } else { Ok(Self(id)) }
    }

    /// The uuid.
    #[must_use]
    pub fn uuid(self) -> Uuid {
        self.0
    }
}

impl fmt::Debug for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Life({})", fingerprint(self.0.as_bytes()))
    }
}

/// What a tenant table holds in its tenant column: the life by default, or the key of an adopted schema.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RowKey {
    /// A `uuid` column.
    Uuid(Uuid),
    /// A `bigint` column.
    BigInt(i64),
    /// A `text` column, of the alphabet of [`TenantId`].
    Text(TenantId),
}

impl fmt::Debug for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid(id) => write!(f, "RowKey::Uuid({})", fingerprint(id.as_bytes())),
            Self::BigInt(n) => write!(f, "RowKey::BigInt({})", fingerprint(&n.to_le_bytes())),
            Self::Text(t) => write!(f, "RowKey::Text({})", fingerprint(t.as_str().as_bytes())),
        }
    }
}

impl From<Life> for RowKey {
    fn from(life: Life) -> Self {
        Self::Uuid(life.uuid())
    }
}

/// One request, for joining its audit records. Random; says nothing about anybody.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(Uuid);

impl RequestId {
    /// A new random request id.
    #[must_use]
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! plain_name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Parses the name: 1 to 63 bytes of `[a-z0-9-]`, starting with a letter.
            ///
            /// # Errors
            /// [`IdError`] for any other text.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                parse_label(text).map(Self)
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

plain_name! {
    /// The name of a realm, the same in every process of a deployment.
    RealmName
}
plain_name! {
    /// A region in which stores live and to which a tenant is placed.
    Region
}
plain_name! {
    /// The name of a corpus that all tenants of a realm may read.
    CorpusName
}
plain_name! {
    /// The name of a cell: one store instance with a region.
    CellName
}

/// The name of a kind of store (`postgres`, `vectors`, ...), written in the code that guards it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct StoreName(&'static str);

impl StoreName {
    /// Names a store.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The name as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

/// Why a name was refused. Never repeats the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdError {
    /// Nothing between the quotes.
    #[error("the name is empty")]
    Empty,
    /// More bytes than allowed.
    #[error("the name is longer than {limit} bytes")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// A byte outside the alphabet.
    #[error("the name holds a character outside its alphabet")]
    BadByte,
    /// The first byte is not one that a name may start with.
    #[error("the name starts with a character it may not start with")]
    BadStart,
    /// A word that programs use for nothing or everything.
    #[error("the name is a reserved word")]
    Reserved,
    /// Not a uuid, or the nil uuid.
    #[error("not a usable uuid")]
    NotAUuid,
}

fn parse_label(text: &str) -> Result<Arc<str>, IdError> {
    let first = text.bytes().next().ok_or(IdError::Empty)?;
    if text.len() > MAX_LABEL_BYTES {
        return Err(IdError::TooLong { limit: MAX_LABEL_BYTES });
    }
    if !first.is_ascii_lowercase() {
        return Err(IdError::BadStart);
    }
    if !text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
        return Err(IdError::BadByte);
    }
    Ok(text.into())
}

/// Eight hex digits that are equal for equal bytes within this process and tell nothing beyond that.
pub(crate) fn fingerprint(bytes: &[u8]) -> String {
    static KEY: OnceLock<[u8; 32]> = OnceLock::new();
    let key = KEY.get_or_init(crate::keys::random_bytes);
    let hash = blake3::keyed_hash(key, bytes);
    data_encoding::HEXLOWER.encode(&hash.as_bytes()[..4])
}

const MAX_TENANT_BYTES: usize = 128;
const MAX_SUBJECT_BYTES: usize = 256;
const MAX_LABEL_BYTES: usize = 63;

/// Words that fall out of unset variables, wildcards and default branches.
const RESERVED: &[&str] = &[
    "null",
    "nil",
    "none",
    "undefined",
    "unknown",
    "default",
    "empty",
    "any",
    "all",
    "every",
    "global",
    "public",
    "shared",
    "anonymous",
    "system",
    "root",
    "admin",
    "operator",
    "tenant",
    "true",
    "false",
    "nan",
    "self",
    "me",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenant_names_are_compared_by_bytes_and_refuse_look_alikes() {
        assert!(TenantId::parse("acme").is_ok());
        assert_ne!(TenantId::parse("Acme"), TenantId::parse("acme"));
        let longest = "a".repeat(128);
        assert!(TenantId::parse(&longest).is_ok());
        let too_long = "a".repeat(129);
        for (text, why) in [
            ("", IdError::Empty),
            (too_long.as_str(), IdError::TooLong { limit: 128 }),
            ("-acme", IdError::BadStart),
            ("_acme", IdError::BadStart),
            ("ac me", IdError::BadByte),
            ("ac:me", IdError::BadByte),
            ("acme\n", IdError::BadByte),
            ("аcme", IdError::BadStart), // Cyrillic a
            ("acmé", IdError::BadByte),
            ("NULL", IdError::Reserved),
            ("Default", IdError::Reserved),
        ] {
            assert_eq!(TenantId::parse(text), Err(why), "{text:?}");
        }
    }

    #[test]
    fn debug_of_a_customer_name_shows_a_fingerprint_only() {
        let id = TenantId::parse("acme").unwrap();
        let shown = format!("{id:?}");
        assert!(!shown.contains("acme"), "{shown}");
        assert_eq!(shown, format!("{:?}", TenantId::parse("acme").unwrap()));
        assert_ne!(shown, format!("{:?}", TenantId::parse("globex").unwrap()));
    }

    #[test]
    fn the_nil_life_is_refused() {
        assert_eq!(Life::parse("00000000-0000-0000-0000-000000000000"), Err(IdError::NotAUuid));
        let life = Life::random();
        assert_eq!(Life::parse(&life.uuid().to_string()), Ok(life));
    }
}
