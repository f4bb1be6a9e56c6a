//! A search that looks for points itself, as one query of the engine's.

use qdrant_edge::{
    ContextPair, ContextQuery, Direction, DiscoverQuery, NamedQuery, OrderBy, QueryEnum, QueryRequest, RecommendQuery,
    Sample, ScoringQuery, SearchParams, StartFrom, VectorInternal, WithPayloadInterface,
};
use tenancy_vector::{BackendError, Find, Order, OrderFrom, Pair, Strategy, Vector, VectorName};

use super::condition::{engine_time, micros};
use super::path;
use super::vector::query_vector;

/// A query, yet without a filter. The threshold is left to whoever asks: the engine's leaves out the score itself.
pub(crate) fn query(query: ScoringQuery, exact: bool, limit: usize, payload: WithPayloadInterface) -> QueryRequest {
    QueryRequest {
        prefetches: Vec::new(),
        query: Some(query),
        filter: None,
        score_threshold: None,
        limit,
        offset: 0,
        params: Some(SearchParams { exact, ..SearchParams::default() }),
        with_vector: false.into(),
        with_payload: payload,
    }
}

/// An order as the engine's.
pub(crate) fn ordered(order: &Order) -> Result<ScoringQuery, BackendError> {
    let start_from = match order.from() {
        None => None,
        Some(OrderFrom::Integer(number)) => Some(StartFrom::Integer(number)),
        Some(OrderFrom::Float(number)) => Some(StartFrom::Float(number)),
        Some(OrderFrom::Datetime(time)) => Some(StartFrom::Datetime(engine_time(micros(time))?)),
    };
    let direction = if order.is_descending() { Direction::Desc } else { Direction::Asc };
    let key = path(order.key().as_str())?;
    Ok(ScoringQuery::OrderBy(OrderBy { key, direction: Some(direction), start_from }))
}

/// The points nearest to a vector.
fn nearest(using: &VectorName, vector: &Vector) -> ScoringQuery {
    ScoringQuery::Vector(QueryEnum::Nearest(named(using, query_vector(vector))))
}

/// What scores the points of a search that is about vectors. `None` for those that are not, and for those over arms,
/// except that one to be refined looks for the nearest.
pub(crate) fn scoring(find: &Find) -> Option<ScoringQuery> {
    Some(match find {
        Find::Nearest { using, vector } | Find::Mmr { using, vector, .. } | Find::Refine { using, vector, .. } => {
            nearest(using, vector)
        }
        Find::Recommend { using, like, unlike, strategy } => {
            let vectors = |vectors: &[_]| vectors.iter().map(query_vector).collect();
            let query = named(using, RecommendQuery { positives: vectors(like), negatives: vectors(unlike) });
            ScoringQuery::Vector(match strategy {
                Strategy::BestScore => QueryEnum::RecommendBestScore(query),
                Strategy::SumScores => QueryEnum::RecommendSumScores(query),
            })
        }
        Find::Discover { using, target, pairs } => {
            let query = DiscoverQuery { target: query_vector(target), pairs: self::pairs(pairs) };
            ScoringQuery::Vector(QueryEnum::Discover(named(using, query)))
        }
        Find::Context { using, pairs } => {
            let query = ContextQuery { pairs: self::pairs(pairs) };
            ScoringQuery::Vector(QueryEnum::Context(named(using, query)))
        }
        Find::Ordered(_) | Find::Sample | Find::Fuse { .. } | Find::Rescore { .. } => return None,
    })
}

pub(crate) const SAMPLE: ScoringQuery = ScoringQuery::Sample(Sample::Random);

fn pairs(pairs: &[Pair]) -> Vec<ContextPair<VectorInternal>> {
    let pair =
        |pair: &Pair| ContextPair { positive: query_vector(pair.positive()), negative: query_vector(pair.negative()) };
    pairs.iter().map(pair).collect()
}

fn named<T>(using: &VectorName, query: T) -> NamedQuery<T> {
    NamedQuery { query, using: Some(using.as_str().to_owned()) }
}
