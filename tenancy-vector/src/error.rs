//! Why a call failed.

use tenancy_core::{BoxError, Denial, Face, Reason, Redacted, Tellable};

use crate::name::VectorName;
use crate::payload::PayloadKey;

/// Why a call on a vector store failed.
///
/// No text repeats an id, a payload or what the driver said: those may be another's. Names of vectors and keys that the schema
/// has are said; others, which may come out of a request, are in the variant alone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VectorError {
    /// Refused, and on record.
    #[error("{0}")]
    Denied(#[from] Denial),
    /// An external id without a byte in it.
    #[error("the external id is empty")]
    IdEmpty,
    /// An external id that is too long.
    #[error("the external id is longer than {limit} bytes")]
    IdTooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// A schema whose dimension is zero or beyond what engines take.
    #[error("a dimension is between 1 and {limit}")]
    BadDimension {
        /// The largest dimension.
        limit: usize,
    },
    /// A vector without values.
    #[error("the vector is empty")]
    VectorEmpty,
    /// NaN, an infinity, or a number so large that scores would overflow.
    #[error("the vector holds a value that is not a usable number")]
    NotFinite,
    /// A dense vector of another dimension than the store's, or rows of one multivector that differ.
    #[error("{} has dimension {found} where {expected} is needed", named(.name.as_ref()))]
    WrongDimension {
        /// Which vector, once that is known.
        name: Option<VectorName>,
        /// The store's dimension.
        expected: usize,
        /// The dimension of the vector.
        found: usize,
    },
    /// A vector that the store's schema does not have.
    #[error("the schema has no vector of that name")]
    UnknownVector(VectorName),
    /// A vector of another kind than the schema has under that name, or a text where it has none.
    #[error("the store has a vector of another kind under the name `{}`", .0.as_str())]
    WrongKind(VectorName),
    /// The point has no vector of that name, so it can't be an example.
    #[error("the point has no vector `{}`", .0.as_str())]
    NoVector(VectorName),
    /// A name of a vector that is not 1 to 64 of `[a-z0-9_]`.
    #[error("the name of a vector is 1 to 64 of [a-z0-9_]")]
    BadName,
    /// Two vectors of one name in a schema or a point.
    #[error("there are two vectors of one name")]
    DuplicateName(VectorName),
    /// A sparse vector with more indices than values, or the other way round.
    #[error("the sparse vector has {indices} indices and {values} values")]
    SparseLengths {
        /// How many indices.
        indices: usize,
        /// How many values.
        values: usize,
    },
    /// Indices of a sparse vector that do not strictly rise.
    #[error("the indices of a sparse vector rise and do not repeat")]
    SparseOrder,
    /// A limit of zero, or one that is too large.
    #[error("a limit is between 1 and {most}")]
    BadLimit {
        /// The largest limit.
        most: usize,
    },
    /// A key that names what this crate keeps about a point, in whichever spelling.
    #[error("the payload key `tenancy` is reserved, in any spelling")]
    ReservedKey,
    /// A key that can't be used in a filter.
    #[error(
        "a key of a payload is dotted names of [A-Za-z0-9_-], 256 bytes at most, and goes through a list where that is said"
    )]
    BadKey,
    /// A payload that is too large or too deeply nested.
    #[error("a payload has at most {bytes} bytes and {levels} levels")]
    PayloadTooLarge {
        /// The limit in bytes of JSON.
        bytes: usize,
        /// The limit of nesting.
        levels: usize,
    },
    /// The same external id twice in one upsert.
    #[error("the external id of item {at} was there before in the same call")]
    DuplicateId {
        /// Which item, counted from 0.
        at: usize,
    },
    /// More points or ids in one call than allowed.
    #[error("a call takes at most {most} items")]
    TooMany {
        /// The largest number.
        most: usize,
    },
    /// A conjunction of no conditions: what was meant to narrow must not match everything.
    #[error("a filter, a range or a search for words without anything in it")]
    FilterEmpty,
    /// A filter that is too large or too deeply nested.
    #[error("a filter has at most {conditions} conditions and {levels} levels")]
    FilterTooLarge {
        /// The largest number of conditions, items of lists included.
        conditions: usize,
        /// The limit of nesting.
        levels: usize,
    },
    /// Texts, lists or vectors with too many bytes, in a filter, in the queries of one call or in its changes together.
    /// Nothing was sent.
    #[error("what is asked for has at most {most} bytes")]
    TooHeavy {
        /// The limit in bytes: of a filter, a text, or a call.
        most: usize,
    },
    /// A condition on the point itself where the objects of a list are looked at.
    #[error("ids and vectors belong to a point, not to an object in its payload")]
    FilterNested,
    /// A condition on a key that the schema has indexed as something else.
    #[error("the key `{}` is indexed as another kind of value", .0.as_str())]
    WrongIndex(PayloadKey),
    /// What needs an index, on a key for which the schema has none that fits.
    #[error("the schema has no fitting index on the key")]
    NotIndexed(PayloadKey),
    /// A point whose value does not say where an ordered scroll goes on: a list, a number beyond 2^53, or a time in
    /// another form than `2026-11-29T12:00:00Z`.
    #[error("a point's value does not say where the order goes on")]
    NotOrdered,
    /// More points with one value than an ordered scroll can step over.
    #[error("an ordered scroll has at most {most} points with one value")]
    TooManyTies {
        /// The largest number.
        most: usize,
    },
    /// A place beyond the earth, or an area that holds none.
    #[error("the place or area is not one on the earth")]
    BadPlace,
    /// A query that is too large.
    #[error("a query has at most {searches} searches in {levels} levels")]
    QueryTooLarge {
        /// The limit of nesting.
        levels: usize,
        /// The largest number of searches.
        searches: usize,
    },
    /// A formula that is too large or too deeply nested.
    #[error("a formula has at most {parts} parts in {levels} levels")]
    FormulaTooLarge {
        /// The largest number of parts.
        parts: usize,
        /// The limit of nesting.
        levels: usize,
    },
    /// A query without arms, a weight too few or too many, or the score of an arm that is not there.
    #[error("the query does not have that arm")]
    NoArm,
    /// Nothing to be like or unlike.
    #[error("the query has no example")]
    NoExample,
    /// A threshold for what has no score.
    #[error("that kind of query has no score to compare")]
    NoScore,
    /// Two external ids share an engine id. Nothing was written. With 122 bits of a keyed hash it will not happen.
    #[error("two external ids share an engine id")]
    IdCollision,
    /// What is there was made for another schema, or is not set up to keep tenants apart.
    #[error("the store can't be used: {0}")]
    Unfit(#[source] Reason),
    /// The points are written. Caches that follow these documents stay bypassed until the write's lease runs out.
    #[error("the write went through but could not be settled")]
    Unsettled,
    /// The task of a write ended without an answer. Whether the points are written is not known: write them again.
    #[error("the write ended without an answer")]
    Interrupted,
    /// The shared corpus was erased: what is to take its place has another name.
    #[error("the shared corpus was erased")]
    CorpusErased,
    /// A life can't be moved: somebody else has taken the move over, or a back end or the tenant's writes take too long.
    /// What was done stays done: try again.
    #[error("the life can't be moved right now")]
    Busy,
    /// A life has points where it is not said to be that are not where it is said to be, or differ there: the placements were
    /// lost, or are older
    /// than the back ends. Nothing was moved; bring them back, or take the points out that are not wanted.
    #[error("the life's points are where they are not said to be")]
    Misplaced,
    /// The re-ranker failed, or did not score each hit.
    #[error("the re-ranker failed")]
    Reranker(#[source] Redacted<BoxError>),
    /// The back end failed.
    #[error("the vector back end failed: {0}")]
    Backend(#[source] Reason),
}

fn named(name: Option<&VectorName>) -> String {
    name.map_or_else(|| "a vector".to_owned(), |name| format!("the vector `{}`", name.as_str()))
}

impl VectorError {
    /// What a caller may learn: its own mistakes are invalid, what is wrong with the store is not its business.
    #[must_use]
    pub const fn face(&self) -> Face {
        match self {
            Self::Denied(denial) => denial.face(),
            Self::CorpusErased => Face::NotFound,
            Self::IdEmpty
            | Self::IdTooLong { .. }
            | Self::BadDimension { .. }
            | Self::VectorEmpty
            | Self::NotFinite
            | Self::WrongDimension { .. }
            | Self::UnknownVector(_)
            | Self::WrongKind(_)
            | Self::NoVector(_)
            | Self::BadName
            | Self::DuplicateName(_)
            | Self::SparseLengths { .. }
            | Self::SparseOrder
            | Self::BadLimit { .. }
            | Self::ReservedKey
            | Self::BadKey
            | Self::PayloadTooLarge { .. }
            | Self::DuplicateId { .. }
            | Self::TooMany { .. }
            | Self::FilterEmpty
            | Self::FilterTooLarge { .. }
            | Self::TooHeavy { .. }
            | Self::FilterNested
            | Self::WrongIndex(_)
            | Self::NotIndexed(_)
            | Self::NotOrdered
            | Self::TooManyTies { .. }
            | Self::BadPlace
            | Self::QueryTooLarge { .. }
            | Self::FormulaTooLarge { .. }
            | Self::NoArm
            | Self::NoExample
            | Self::NoScore => Face::Invalid,
            Self::IdCollision
            | Self::Unfit(_)
            | Self::Unsettled
            | Self::Interrupted
            | Self::Busy
            | Self::Misplaced
            | Self::Reranker(_)
            | Self::Backend(_) => Face::Unavailable,
        }
    }
}

impl From<BackendError> for VectorError {
    fn from(error: BackendError) -> Self {
        match error {
            // A partition is dropped only when its life is erased, and a life does not come back.
            BackendError::Dropped => Self::Denied(Denial::TenantErased),
            BackendError::Collision => Self::IdCollision,
            BackendError::Unfit(reason) => Self::Unfit(reason),
            BackendError::Denied(denial) => Self::Denied(denial),
            BackendError::BreakerOpen => Self::Denied(Denial::BreakerOpen),
            BackendError::Failed(reason) => Self::Backend(reason),
        }
    }
}

/// Why a back end could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[expect(clippy::exhaustive_enums, reason = "each kind of failure must reach the caller as what it is")]
pub enum BackendError {
    /// The partition was dropped for good.
    #[error("the partition was dropped")]
    Dropped,
    /// The engine id is taken by a point with another digest. Nothing was written.
    #[error("the engine id is taken")]
    Collision,
    /// What is there was made for another schema, or is not set up to keep tenants apart.
    #[error("the store can't be used: {0}")]
    Unfit(#[source] Reason),
    /// The store of the engine has a gate of its own, which refused the call. It is on record there.
    #[error("{0}")]
    Denied(#[source] Denial),
    /// The engine failed too often lately, for this life or for all, and is not asked for a while.
    #[error("the engine failed too often lately")]
    BreakerOpen,
    /// Anything else.
    #[error("the engine failed: {0}")]
    Failed(#[source] Reason),
}

impl Tellable for BackendError {}

impl Tellable for VectorError {}

impl BackendError {
    /// An engine's own error, whose text is withheld.
    pub fn failed(error: impl Into<BoxError>) -> Self {
        Self::Failed(Reason::foreign(error))
    }

    /// A reason that may be told: a text that was there before any tenant was.
    #[must_use]
    pub const fn because(why: &'static str) -> Self {
        Self::Failed(Reason::text(why))
    }

    /// What is there can't be used, and why.
    #[must_use]
    pub const fn unfit(why: &'static str) -> Self {
        Self::Unfit(Reason::text(why))
    }
}
