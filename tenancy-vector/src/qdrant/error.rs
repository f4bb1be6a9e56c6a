//! Why a Qdrant server can't be used.

use std::fmt;

use tenancy_core::{BoxError, Redacted, Tellable};

use crate::name::VectorName;
use crate::payload::PayloadKey;
use crate::schema::{Distance, IndexKind};

/// Why a Qdrant server can't be used, or did not do what it was asked.
///
/// What the server said is kept as the source, redacted: it names fields and values.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QdrantError {
    /// Not a plain `http` or `https` address, such as `https://qdrant.example:6334`, and why.
    #[error("the address of the server {0}; it is like https://qdrant.example:6334")]
    BadAddress(&'static str),
    /// A name that is not 1 to 128 of `[A-Za-z0-9_-]`.
    #[error("the name of a collection is 1 to 128 of [A-Za-z0-9_-]")]
    BadName,
    /// An API key that can't stand in a header.
    #[error("the api key can't be sent")]
    BadKey,
    /// An API key over a connection that anybody on the way can read.
    #[error("an api key is sent over https only, or to this machine")]
    KeyInTheOpen,
    /// Certificates that can't be used.
    #[error("the certificates can't be used")]
    BadCertificate(#[source] Redacted<BoxError>),
    /// The server is older than 1.19, and would drop what keeps tenants apart without a word.
    #[error("the server is version {found}, and at least {least} is needed")]
    TooOld {
        /// The server's.
        found: Version,
        /// The oldest that does.
        least: Version,
    },
    /// The server did not say which version it is.
    #[error("the server does not say which version it is")]
    NoVersion,
    /// What is there is not set up as the schema and the separation of tenants need it.
    #[error("the collection can't be used: {0}")]
    Drift(#[from] Drift),
    /// No answer in time. A write may have been done.
    #[error("the server did not answer in time")]
    TimedOut,
    /// Too many failures lately; it is not asked for a while.
    #[error("the server failed too often lately")]
    BreakerOpen,
    /// The server took a write and did not say that it was done.
    #[error("the server does not say that the write is done")]
    NotCompleted,
    /// An answer that misses a part.
    #[error("the answer of the server misses a part")]
    Incomplete,
    /// What the server has no form for.
    #[error("the server can't be asked that")]
    NoForm,
    /// There is no such collection.
    #[error("the server has no such collection: prepare the store before it serves")]
    NoCollection,
    /// No connection to the server, or it broke. A write may have been done.
    #[error("no connection to the server's gRPC port (6334 by default), or it broke")]
    Unreachable(#[source] Redacted<BoxError>),
    /// The server does not take the API key, or wants one.
    #[error("the server does not let us in with this api key")]
    Unauthorized(#[source] Redacted<BoxError>),
    /// The server refuses what it was asked: made for another schema, or a formula over values of another type.
    #[error("the server refuses what it was asked: was the store prepared, with this schema?")]
    Refused(#[source] Redacted<BoxError>),
    /// The server failed.
    #[error("the server failed ({code})")]
    Server {
        /// The name of the gRPC status, such as `Internal`.
        code: String,
        /// What it said, which quotes fields and values.
        source: Redacted<BoxError>,
    },
}

impl Tellable for QdrantError {}

/// In what a collection differs from what the schema and the separation of tenants need. Vectors and keys are named: they
/// are the schema's and the collection's own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Drift {
    /// There are points, and no keyword index with `is_tenant` on the life.
    #[error("the life has no tenant index")]
    TenantIndex,
    /// The server does not say how it is made.
    #[error("the server does not say how it is made")]
    Unknown,
    /// A vector of the schema that it has not, or not of the kind: dense or sparse.
    #[error("it has no vector {:?} of the kind in the schema", .0.as_str())]
    NoVector(VectorName),
    /// It has a vector that the schema has not, or not of that kind.
    #[error("it has a vector {:?} that is not in the schema", .0.as_str())]
    VectorMore(VectorName),
    /// It has a vector without a name, or with one that can't be in a schema.
    #[error("it has a vector without a name, or with one that can't be in a schema")]
    Unnamed,
    /// A vector of another dimension.
    #[error("the vector {:?} has {found} dimensions there and {wanted} in the schema", .vector.as_str())]
    Dimension {
        /// The vector.
        vector: VectorName,
        /// What it has there.
        found: u64,
        /// What the schema says.
        wanted: usize,
    },
    /// A vector that is compared in another way.
    #[error("the vector {:?} is not compared by {wanted:?} there", .vector.as_str())]
    Distance {
        /// The vector.
        vector: VectorName,
        /// What the schema says.
        wanted: Distance,
    },
    /// One vector where the schema has several of a point, or the other way round.
    #[error("the vector {:?} is one of a point there and several in the schema, or the other way round", .0.as_str())]
    Multivector(VectorName),
    /// Terms are not weighed by how rare they are.
    #[error("the terms of {:?} are not weighed by their rarity there (modifier idf)", .0.as_str())]
    Modifier(VectorName),
    /// A key is indexed as something else.
    #[error("the key {:?} is not indexed as {wanted:?} there", .key.as_str())]
    Index {
        /// The key.
        key: PayloadKey,
        /// What the schema says.
        wanted: IndexKind,
    },
    /// A setting of the strict mode that would refuse what this back end sends.
    #[error("its strict mode refuses what is needed: {0}")]
    StrictMode(&'static str),
    /// Shards by hand where none are meant, or none where they are.
    #[error("the sharding is another")]
    Sharding,
    /// Made for another schema, such as a text in another language.
    #[error("it was made for another schema")]
    Schema,
}

impl Tellable for Drift {}

/// The first two numbers of a server's version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    major: u32,
    minor: u32,
}

impl Version {
    /// The oldest server that knows the corpus of a sparse query, and all else that keeps tenants apart.
    pub const FLOOR: Self = Self { major: 1, minor: 19 };

    /// Reads `1.19.0` and the like.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().trim_start_matches('v').split(['.', '-', '+']);
        let mut number = || parts.next()?.parse().ok();
        Some(Self { major: number()?, minor: number()? })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
