//! What a caller asks for.

mod bounds;
mod fusion;
mod lower;

use std::fmt;

pub use fusion::{Fusion, Ranks, fuse, in_order};
pub(crate) use lower::{Examples, Lowering};

use crate::error::VectorError;
use crate::filter::Filter;
use crate::id::ExternalId;
use crate::name::VectorName;
use crate::request::{Expression, Order, Strategy};
use crate::vector::{DenseVector, Input, SparseVector, Vector};

/// A query: what to look for, how many hits, and perhaps a filter. Nothing in it can name a tenant.
///
/// Points are named as examples by their external ids alone. They are read first, as the tenant's own, and sent as
/// vectors: an engine that is given an id looks it up without any filter, and its answer tells whether it exists.
#[derive(Clone, PartialEq)]
pub struct VectorQuery {
    pub(crate) wanted: Wanted,
    pub(crate) limit: Option<usize>,
    pub(crate) filter: Option<Filter>,
    pub(crate) threshold: Option<f32>,
    pub(crate) exact: bool,
    pub(crate) vectors: bool,
}

/// What is looked for, in the caller's words.
#[derive(Clone, PartialEq)]
pub(crate) enum Wanted {
    Nearest { using: VectorName, input: Input },
    Mmr { using: VectorName, input: Input, diversity: f32, candidates: Option<usize> },
    Recommend { using: VectorName, like: Vec<Example>, unlike: Vec<Example>, strategy: Recommend },
    Discover { using: VectorName, target: Example, pairs: Vec<(Example, Example)> },
    Context { using: VectorName, pairs: Vec<(Example, Example)> },
    Ordered(Order),
    Sample,
    Fuse { fusion: Fusion, arms: Vec<VectorQuery> },
    Rescore { score: Expression, arms: Vec<VectorQuery> },
    Refine { using: VectorName, input: Input, arms: Vec<VectorQuery> },
}

/// Something to be like or unlike.
#[derive(Clone, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "an example is a point or it is not")]
pub enum Example {
    /// One of the tenant's points. It is not among the hits.
    Point(ExternalId),
    /// A vector or a text.
    Input(Input),
}

/// How examples make a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "each is a rule of its own")]
pub enum Recommend {
    /// Near to the average of what to be like, moved away from the average of what to be unlike.
    Average,
    /// The nearest example decides, on either side.
    Best,
    /// All examples count, the ones to be unlike against a point.
    Sum,
}

impl VectorQuery {
    /// The most hits of one query.
    pub const MAX_LIMIT: usize = 1000;

    /// The most points that an arm of a query looks up.
    pub const MAX_DEPTH: usize = 2000;

    /// How deep queries may stand in queries.
    pub const MAX_LEVELS: usize = 4;

    /// The most queries in a query, itself included.
    pub const MAX_SEARCHES: usize = 64;

    /// The most points that are named as examples.
    pub const MAX_EXAMPLES: usize = 256;

    /// The most bytes of the queries of one call: of their filters, each as often as there are searches that it narrows,
    /// and their vectors, texts and formulas. A server takes twice as much.
    pub const MAX_BYTES: usize = 16 * 1024 * 1024;

    /// The points nearest to a vector, or to a text where the schema has texts under that name. Ten of them unless
    /// [`limit`](Self::limit) says otherwise.
    ///
    /// For a sparse vector or a text: the points that share terms with it, rare terms counting more. Rarity is taken
    /// from the tenant's own points alone, or the score would tell about its neighbours'.
    pub fn nearest(using: VectorName, input: impl Into<Input>) -> Self {
        Self::new(Wanted::Nearest { using, input: input.into() })
    }

    /// The points nearest to the vector named `dense`.
    ///
    /// # Errors
    /// [`VectorError::VectorEmpty`], [`VectorError::NotFinite`].
    pub fn dense(vector: Vec<f32>) -> Result<Self, VectorError> {
        Ok(Self::nearest(VectorName::dense(), DenseVector::new(vector)?))
    }

    /// The points that share terms with the vector named `sparse`.
    ///
    /// # Errors
    /// [`VectorError::VectorEmpty`].
    pub fn sparse(vector: SparseVector) -> Result<Self, VectorError> {
        if vector.is_empty() {
            return Err(VectorError::VectorEmpty);
        }
        Ok(Self::nearest(VectorName::sparse(), vector))
    }

    /// Both, fused by reciprocal ranks. A text without terms leaves the dense arm alone.
    ///
    /// # Errors
    /// As [`dense`](Self::dense).
    pub fn hybrid(dense: Vec<f32>, sparse: SparseVector) -> Result<Self, VectorError> {
        let dense = Self::dense(dense)?;
        if sparse.is_empty() {
            return Ok(dense);
        }
        Ok(Self::fuse(Fusion::ranks(), [dense, Self::nearest(VectorName::sparse(), sparse)]))
    }

    /// Points near to an input and unlike each other (maximal marginal relevance, Carbonell and Goldstein, 1998), from
    /// diversity 0, where only nearness counts, to 1. Chosen from the hundred nearest or more.
    ///
    /// # Errors
    /// [`VectorError::NotFinite`] for a diversity that is not between 0 and 1.
    pub fn mmr(using: VectorName, input: impl Into<Input>, diversity: f32) -> Result<Self, VectorError> {
        if !(0.0..=1.0).contains(&diversity) {
            return Err(VectorError::NotFinite);
        }
        Ok(Self::new(Wanted::Mmr { using, input: input.into(), diversity, candidates: None }))
    }

    /// Points like some examples and unlike others.
    ///
    /// # Errors
    /// [`VectorError::NoExample`] without one to be like, for [`Recommend::Average`], or without any.
    pub fn recommend(
        using: VectorName,
        strategy: Recommend,
        like: impl IntoIterator<Item = Example>,
        unlike: impl IntoIterator<Item = Example>,
    ) -> Result<Self, VectorError> {
        let (like, unlike): (Vec<_>, Vec<_>) = (like.into_iter().collect(), unlike.into_iter().collect());
        let needed = match strategy {
            Recommend::Average => like.len(),
            Recommend::Best | Recommend::Sum => like.len() + unlike.len(),
        };
        if needed == 0 {
            return Err(VectorError::NoExample);
        }
        Ok(Self::new(Wanted::Recommend { using, like, unlike, strategy }))
    }

    /// The points nearest to a target, those on the right side of most pairs first: nearer to a pair's first example
    /// than to its second.
    pub fn discover(using: VectorName, target: Example, pairs: impl IntoIterator<Item = (Example, Example)>) -> Self {
        Self::new(Wanted::Discover { using, target, pairs: pairs.into_iter().collect() })
    }

    /// Points on the right side of all pairs, or as near to it as can be.
    ///
    /// # Errors
    /// [`VectorError::NoExample`] without a pair.
    pub fn context(
        using: VectorName,
        pairs: impl IntoIterator<Item = (Example, Example)>,
    ) -> Result<Self, VectorError> {
        let pairs: Vec<_> = pairs.into_iter().collect();
        if pairs.is_empty() {
            return Err(VectorError::NoExample);
        }
        Ok(Self::new(Wanted::Context { using, pairs }))
    }

    /// Points in the order of a value of their payload. Those without one are left out.
    #[must_use]
    pub const fn ordered(order: Order) -> Self {
        Self::new(Wanted::Ordered(order))
    }

    /// Points by chance.
    #[must_use]
    pub const fn sample() -> Self {
        Self::new(Wanted::Sample)
    }

    /// What several queries find, as one list. Each looks up more points than are returned, four times as many and a
    /// hundred at least, so that a point in the middle of several can come to the top; their own limits go before.
    pub fn fuse(fusion: Fusion, arms: impl IntoIterator<Item = Self>) -> Self {
        Self::new(Wanted::Fuse { fusion, arms: arms.into_iter().collect() })
    }

    /// What several queries find, with a score computed anew for each point.
    pub fn rescore(score: Expression, arms: impl IntoIterator<Item = Self>) -> Self {
        Self::new(Wanted::Rescore { score, arms: arms.into_iter().collect() })
    }

    /// Among what several queries find, the points nearest to an input: a cheap vector first, a costly one on what it
    /// found.
    pub fn refine(using: VectorName, input: impl Into<Input>, arms: impl IntoIterator<Item = Self>) -> Self {
        Self::new(Wanted::Refine { using, input: input.into(), arms: arms.into_iter().collect() })
    }

    /// Sets how many hits come back at most, or for an arm, how many points it looks up.
    ///
    /// # Errors
    /// [`VectorError::BadLimit`] for 0 and for more than [`MAX_LIMIT`](Self::MAX_LIMIT).
    pub fn limit(mut self, hits: usize) -> Result<Self, VectorError> {
        if hits == 0 || hits > Self::MAX_LIMIT {
            return Err(VectorError::BadLimit { most: Self::MAX_LIMIT });
        }
        self.limit = Some(hits);
        Ok(self)
    }

    /// Narrows the query and all its arms, beside the tenant condition and never instead of it. A second filter is
    /// asked for too.
    ///
    /// # Errors
    /// [`VectorError::FilterEmpty`], [`VectorError::FilterTooLarge`], [`VectorError::TooHeavy`],
    /// [`VectorError::FilterNested`], [`VectorError::BadPlace`].
    pub fn filter(mut self, filter: Filter) -> Result<Self, VectorError> {
        let all = match self.filter.take() {
            Some(first) => Filter::All(vec![first, filter]),
            None => filter,
        };
        all.ensure_sound()?;
        self.filter = Some(all);
        Ok(self)
    }

    /// Leaves out points with a lower score.
    ///
    /// # Errors
    /// [`VectorError::NotFinite`]; [`VectorError::NoScore`] for an order or a sample, which have none, and for
    /// [`mmr`](Self::mmr), whose choice comes after it.
    pub fn score_threshold(mut self, least: f32) -> Result<Self, VectorError> {
        if matches!(self.wanted, Wanted::Ordered(_) | Wanted::Sample | Wanted::Mmr { .. }) {
            return Err(VectorError::NoScore);
        }
        if !least.is_finite() {
            return Err(VectorError::NotFinite);
        }
        self.threshold = Some(least);
        Ok(self)
    }

    /// Looks at every point and asks no index: slower, and nothing is missed.
    #[must_use]
    pub const fn exact(mut self) -> Self {
        self.exact = true;
        self
    }

    /// Hits carry their vectors.
    #[must_use]
    pub const fn with_vectors(mut self) -> Self {
        self.vectors = true;
        self
    }

    const fn new(wanted: Wanted) -> Self {
        Self { wanted, limit: None, filter: None, threshold: None, exact: false, vectors: false }
    }
}

impl From<ExternalId> for Example {
    fn from(id: ExternalId) -> Self {
        Self::Point(id)
    }
}

impl From<Vector> for Example {
    fn from(vector: Vector) -> Self {
        Self::Input(vector.into())
    }
}

impl From<Recommend> for Option<Strategy> {
    fn from(strategy: Recommend) -> Self {
        match strategy {
            Recommend::Average => None,
            Recommend::Best => Some(Strategy::BestScore),
            Recommend::Sum => Some(Strategy::SumScores),
        }
    }
}

impl fmt::Debug for VectorQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wanted, limit, filter, .. } = self;
        let mut shown = f.debug_struct("VectorQuery");
        shown.field("wanted", wanted).field("limit", limit).field("filter", filter).finish_non_exhaustive()
    }
}

impl fmt::Debug for Wanted {
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

impl fmt::Debug for Example {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Example(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PayloadKey;

    #[test]
    fn limits_are_between_one_and_a_thousand() {
        let query = || VectorQuery::dense(vec![1.0]).unwrap();
        for bad in [0, 1001, usize::MAX] {
            assert!(matches!(query().limit(bad), Err(VectorError::BadLimit { most: 1000 })), "{bad}");
        }
        assert!(query().limit(1).is_ok() && query().limit(1000).is_ok());
    }

    #[test]
    fn a_query_needs_something_to_look_for() {
        assert!(matches!(VectorQuery::dense(vec![]), Err(VectorError::VectorEmpty)));
        assert!(matches!(VectorQuery::sparse(SparseVector::empty()), Err(VectorError::VectorEmpty)));
        assert!(matches!(VectorQuery::hybrid(vec![f32::NAN], SparseVector::empty()), Err(VectorError::NotFinite)));
        let without_terms = VectorQuery::hybrid(vec![1.0], SparseVector::empty()).unwrap();
        assert_eq!(without_terms, VectorQuery::dense(vec![1.0]).unwrap());
    }

    #[test]
    fn a_second_filter_narrows_further() {
        let of = |name: &str| Filter::Equals(PayloadKey::parse(name).unwrap(), true.into());
        let query = VectorQuery::dense(vec![1.0]).unwrap().filter(of("a")).unwrap().filter(of("b")).unwrap();
        assert_eq!(query.filter, Some(Filter::All(vec![of("a"), of("b")])));
    }
}
