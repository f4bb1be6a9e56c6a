//! What is stored of an API key.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use crate::clock::unix_seconds;
use crate::id::{IdError, Life, SubjectId};

/// The public half of an API key, by which its record is found: 16 lower-case hex digits. Not a secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApiKeyId(pub(super) Arc<str>);

impl ApiKeyId {
    /// Parses an id, as an operator's tool gets it to revoke a key.
    ///
    /// # Errors
    /// [`IdError`] for anything but 16 lower-case hex digits.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        if text.is_empty() {
            return Err(IdError::Empty);
        }
        if text.len() > ID_CHARS {
            return Err(IdError::TooLong { limit: ID_CHARS });
        }
        if text.len() < ID_CHARS || !is_lower_hex(text) {
            return Err(IdError::BadByte);
        }
        Ok(Self(text.into()))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ApiKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a directory stores of an API key. The key can't be made from it: it holds a keyed hash, whose key it does not.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct ApiKeyRecord {
    pub(super) id: ApiKeyId,
    pub(super) hash: [u8; 32],
    pub(super) life: Life,
    pub(super) subject: SubjectId,
    pub(super) roles: Vec<String>,
    pub(super) created: SystemTime,
    pub(super) expires: Option<SystemTime>,
    pub(super) revoked: bool,
}

impl ApiKeyRecord {
    /// The public id.
    #[must_use]
    pub const fn id(&self) -> &ApiKeyId {
        &self.id
    }

    /// The life the key is for.
    #[must_use]
    pub const fn life(&self) -> Life {
        self.life
    }

    /// Who acts with the key.
    #[must_use]
    pub const fn subject(&self) -> &SubjectId {
        &self.subject
    }

    /// The roles of the key.
    #[must_use]
    pub fn roles(&self) -> &[String] {
        &self.roles
    }

    /// When the key was issued, to the second.
    #[must_use]
    pub const fn created(&self) -> SystemTime {
        self.created
    }

    /// From when on the key is refused, to the second. `None`: never by itself.
    #[must_use]
    pub const fn expires(&self) -> Option<SystemTime> {
        self.expires
    }

    /// Whether the key was revoked.
    #[must_use]
    pub const fn is_revoked(&self) -> bool {
        self.revoked
    }

    /// Marks the key as revoked, for good: there is no way back.
    pub const fn revoke(&mut self) {
        self.revoked = true;
    }
}

impl fmt::Debug for ApiKeyRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, hash: _, life, subject, roles, created, expires, revoked } = self;
        f.debug_struct("ApiKeyRecord")
            .field("id", id)
            .field("life", life)
            .field("subject", subject)
            .field("roles", &roles.len())
            .field("created", created)
            .field("expires", expires)
            .field("revoked", revoked)
            .finish_non_exhaustive()
    }
}

/// The stored form. Read back, every field is checked like one that came from outside.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    id: String,
    hash: String,
    life: String,
    subject: String,
    roles: Vec<String>,
    /// Seconds since 1970.
    created: u64,
    /// Seconds since 1970.
    expires: Option<u64>,
    revoked: bool,
}

impl From<ApiKeyRecord> for Stored {
    fn from(record: ApiKeyRecord) -> Self {
        let ApiKeyRecord { id, hash, life, subject, roles, created, expires, revoked } = record;
        Self {
            id: id.as_str().to_owned(),
            hash: HEXLOWER.encode(&hash),
            life: life.uuid().to_string(),
            subject: subject.as_str().to_owned(),
            roles,
            created: unix_seconds(created),
            expires: expires.map(unix_seconds),
            revoked,
        }
    }
}

impl TryFrom<Stored> for ApiKeyRecord {
    type Error = BadRecord;

    fn try_from(stored: Stored) -> Result<Self, BadRecord> {
        let Stored { id, hash, life, subject, roles, created, expires, revoked } = stored;
        let hash = HEXLOWER.decode(hash.as_bytes()).map_err(|_| BadRecord("hash"))?;
        let time = |seconds, field| at_second(seconds).ok_or(BadRecord(field));
        Ok(Self {
            id: ApiKeyId::parse(&id).map_err(|_| BadRecord("id"))?,
            hash: hash.try_into().map_err(|_| BadRecord("hash"))?,
            life: Life::parse(&life).map_err(|_| BadRecord("life"))?,
            subject: SubjectId::parse(&subject).map_err(|_| BadRecord("subject"))?,
            roles,
            created: time(created, "created")?,
            expires: expires.map(|seconds| time(seconds, "expires")).transpose()?,
            revoked,
        })
    }
}

/// A stored record that no realm wrote.
#[derive(Debug, thiserror::Error)]
#[error("not a usable API key record: {0}")]
struct BadRecord(&'static str);

/// A time as it is stored: whole seconds since 1970.
pub(super) fn at_second(seconds: u64) -> Option<SystemTime> {
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

fn is_lower_hex(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

const ID_CHARS: usize = 16;
