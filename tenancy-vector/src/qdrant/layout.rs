//! Where the points of a life are.

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::shard_key;

use super::channel::About;
use super::error::QdrantError;
use crate::reserved;
use crate::scope::VectorScope;

/// The name of a collection: 1 to 128 of `[A-Za-z0-9_-]`. The operator's, never a tenant's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionName(String);

impl CollectionName {
    /// Parses a name.
    ///
    /// # Errors
    /// [`QdrantError::BadName`].
    pub fn parse(text: &str) -> Result<Self, QdrantError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if text.is_empty() || text.len() > MAX_BYTES || !text.bytes().all(plain) {
            return Err(QdrantError::BadName);
        }
        Ok(Self(text.to_owned()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How lives are laid out on the server. The condition on the life is on every request in each of them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a way to lay lives out that is missed somewhere must not compile")]
pub enum QdrantLayout {
    /// All in one collection, with a graph of its own for each large life (`m = 0`, `payload_m = 16`). What most want.
    Shared {
        /// The collection.
        collection: CollectionName,
    },
    /// A collection for each life. For some hundreds of them: a server keeps each in memory.
    Collections {
        /// What their names begin with.
        prefix: CollectionName,
    },
    /// A shard key for each life, in one collection. For clusters, and some thousand lives.
    ShardKeys {
        /// The collection.
        collection: CollectionName,
    },
}

/// The place of one life's points, and the condition that picks them out. Every request is made from one.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) collection: String,
    pub(super) shard_key: Option<String>,
    pub(super) life: String,
}

impl QdrantLayout {
    pub(super) fn place(&self, scope: &VectorScope<'_>) -> Place {
        self.place_of(scope.partition(), reserved::life(scope.life()))
    }

    pub(super) fn place_of(&self, partition: &str, life: String) -> Place {
        let (collection, shard_key) = match self {
            Self::Shared { collection } => (collection.0.clone(), None),
            Self::Collections { prefix } => (format!("{}-{partition}", prefix.0), None),
            Self::ShardKeys { collection } => (collection.0.clone(), Some(partition.to_owned())),
        };
        Place { collection, shard_key, life }
    }

    /// The collection of all lives, where there is one.
    pub(super) const fn shared(&self) -> Option<&CollectionName> {
        match self {
            Self::Shared { collection } | Self::ShardKeys { collection } => Some(collection),
            Self::Collections { .. } => None,
        }
    }

    pub(super) const fn sharding(&self) -> pb::ShardingMethod {
        match self {
            Self::Shared { .. } | Self::Collections { .. } => pb::ShardingMethod::Auto,
            Self::ShardKeys { .. } => pb::ShardingMethod::Custom,
        }
    }
}

impl Place {
    pub(super) fn about(&self) -> About<'_> {
        About { collection: &self.collection, life: Some(&self.life) }
    }

    /// The shard of the life alone. Without one a request goes to all shards; a fallback would be another's.
    pub(super) fn shard(&self) -> Option<pb::ShardKeySelector> {
        self.key().map(|key| pb::ShardKeySelector { shard_keys: vec![key], fallback: None })
    }

    pub(super) fn key(&self) -> Option<pb::ShardKey> {
        let key = self.shard_key.clone()?;
        Some(pb::ShardKey { key: Some(shard_key::Key::Keyword(key)) })
    }
}

/// With a partition's 65 characters behind it, well within the 255 that a server takes.
const MAX_BYTES: usize = 128;
