//! One search, and searches within it.

use std::fmt;

use super::expression::Expression;
use crate::filter::Condition;
use crate::id::PointKey;
use crate::name::VectorName;
use crate::payload::PayloadKey;
use crate::query::Fusion;
use crate::schema::Schema;
use crate::vector::Vector;

/// A query to lower.
#[derive(Clone, Debug)]
pub struct QueryRequest {
    pub(crate) schema: Schema,
    pub(crate) search: Search,
    pub(crate) vectors: bool,
}

impl QueryRequest {
    /// The schema of the store.
    #[must_use]
    pub const fn schema(&self) -> &Schema {
        &self.schema
    }

    /// What to look for.
    #[must_use]
    pub const fn search(&self) -> &Search {
        &self.search
    }

    /// Whether the answers carry their vectors.
    #[must_use]
    pub const fn vectors(&self) -> bool {
        self.vectors
    }
}

/// A search. The life is a condition of each of them, however deep: one scope feeds them all.
#[derive(Clone)]
pub struct Search {
    pub(crate) find: Find,
    pub(crate) condition: Option<Condition>,
    pub(crate) limit: usize,
    pub(crate) threshold: Option<f32>,
    pub(crate) exact: bool,
}

impl Search {
    /// What is looked for.
    #[must_use]
    pub const fn find(&self) -> &Find {
        &self.find
    }

    /// The caller's condition, to be nested beside the one on the life as one condition. It goes for this search and
    /// for all within it.
    #[must_use]
    pub const fn condition(&self) -> Option<&Condition> {
        self.condition.as_ref()
    }

    /// The most points to find.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// The lowest score that counts.
    #[must_use]
    pub const fn threshold(&self) -> Option<f32> {
        self.threshold
    }

    /// Whether every point is to be looked at, and no index asked.
    #[must_use]
    pub const fn exact(&self) -> bool {
        self.exact
    }
}

/// What a search looks for, and how the points that it finds are scored.
#[derive(Clone)]
#[expect(clippy::exhaustive_enums, reason = "a back end that misses a kind of search must not compile")]
pub enum Find {
    /// The points nearest to a vector.
    ///
    /// A sparse vector scores the sum over common terms of weight in the query, weight in the point, and
    /// `ln((n - df + 0.5) / (df + 0.5) + 1)`, where `n` and `df` count points of this life only.
    Nearest {
        /// The name of the vector.
        using: VectorName,
        /// What to be near to.
        vector: Vector,
    },
    /// Points near to a vector and unlike each other (maximal marginal relevance).
    Mmr {
        /// The name of the vector.
        using: VectorName,
        /// What to be near to.
        vector: Vector,
        /// From 0, only nearness counts, to 1, only difference.
        diversity: f32,
        /// How many of the nearest points are chosen from.
        candidates: usize,
    },
    /// Points like some vectors and unlike others.
    Recommend {
        /// The name of the vector.
        using: VectorName,
        /// What to be like.
        like: Vec<Vector>,
        /// What to be unlike. One of the two has a vector.
        unlike: Vec<Vector>,
        /// How the two make a score.
        strategy: Strategy,
    },
    /// The points nearest to a vector, those on the right side of most pairs first.
    Discover {
        /// The name of the vector.
        using: VectorName,
        /// What to be near to.
        target: Vector,
        /// The pairs.
        pairs: Vec<Pair>,
    },
    /// Points on the right side of pairs.
    Context {
        /// The name of the vector.
        using: VectorName,
        /// The pairs; at least one.
        pairs: Vec<Pair>,
    },
    /// Points in the order of a value of their payload.
    Ordered(Order),
    /// Points by chance.
    Sample,
    /// What several searches find, made one list.
    Fuse {
        /// How.
        fusion: Fusion,
        /// The searches; at least one.
        arms: Vec<Search>,
    },
    /// What several searches find, with a score computed anew.
    Rescore {
        /// The score.
        score: Expression<PointKey>,
        /// The searches; at least one.
        arms: Vec<Search>,
    },
    /// Among what several searches find, the points nearest to a vector.
    Refine {
        /// The name of the vector.
        using: VectorName,
        /// What to be near to.
        vector: Vector,
        /// The searches; at least one.
        arms: Vec<Search>,
    },
}

/// How examples make a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a back end that misses a strategy must not compile")]
pub enum Strategy {
    /// The best example of each side decides.
    BestScore,
    /// The sum of the scores with the one minus that of the other.
    SumScores,
}

/// Two vectors: points nearer to the first are on the right side.
#[derive(Clone)]
pub struct Pair {
    pub(crate) positive: Vector,
    pub(crate) negative: Vector,
}

impl Pair {
    /// What to be nearer to.
    #[must_use]
    pub const fn positive(&self) -> &Vector {
        &self.positive
    }

    /// What to be farther from.
    #[must_use]
    pub const fn negative(&self) -> &Vector {
        &self.negative
    }
}

/// An order by a value of the payload. The key is indexed as a number or a point in time; points without a value are
/// left out.
#[derive(Clone, PartialEq)]
pub struct Order {
    pub(crate) key: PayloadKey,
    pub(crate) descending: bool,
    pub(crate) from: Option<OrderFrom>,
}

/// Where an order begins, the value itself included.
#[derive(Clone, Copy, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a back end that misses a kind of value must not compile")]
pub enum OrderFrom {
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// A point in time.
    Datetime(std::time::SystemTime),
}

impl Order {
    /// The smallest value first.
    #[must_use]
    pub const fn ascending(key: PayloadKey) -> Self {
        Self { key, descending: false, from: None }
    }

    /// The largest value first.
    #[must_use]
    pub const fn descending(key: PayloadKey) -> Self {
        Self { key, descending: true, from: None }
    }

    /// From this value on, the value itself included.
    #[must_use]
    pub const fn starting_at(mut self, from: OrderFrom) -> Self {
        self.from = Some(from);
        self
    }

    /// The key.
    #[must_use]
    pub const fn key(&self) -> &PayloadKey {
        &self.key
    }

    /// Whether the largest value is first.
    #[must_use]
    pub const fn is_descending(&self) -> bool {
        self.descending
    }

    /// Where it begins.
    #[must_use]
    pub const fn from(&self) -> Option<OrderFrom> {
        self.from
    }
}

impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search").field("find", &self.find).field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl fmt::Debug for Find {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nearest { using, .. } => write!(f, "Nearest({using:?})"),
            Self::Mmr { using, .. } => write!(f, "Mmr({using:?})"),
            Self::Recommend { using, .. } => write!(f, "Recommend({using:?})"),
            Self::Discover { using, .. } => write!(f, "Discover({using:?})"),
            Self::Context { using, .. } => write!(f, "Context({using:?})"),
            Self::Ordered(_) => f.write_str("Ordered(..)"),
            Self::Sample => f.write_str("Sample"),
            Self::Fuse { arms, .. } => f.debug_tuple("Fuse").field(arms).finish(),
            Self::Rescore { arms, .. } => f.debug_tuple("Rescore").field(arms).finish(),
            Self::Refine { using, arms, .. } => f.debug_tuple("Refine").field(using).field(arms).finish(),
        }
    }
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pair(..)")
    }
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Order(..)")
    }
}

impl fmt::Debug for OrderFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OrderFrom(..)")
    }
}
