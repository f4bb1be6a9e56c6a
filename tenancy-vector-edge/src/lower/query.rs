//! A search that looks for points itself, as one query of the engine's.

use qdrant_edge::external::ordered_float::OrderedFloat;
use qdrant_edge::{
    ContextPair, ContextQuery, Direction, DiscoverQuery, Mmr, NamedQuery, OrderBy, QueryEnum, QueryRequest,
    RecommendQuery, Sample, ScoringQuery, SearchParams, StartFrom, VectorInternal, WithPayloadInterface,
};
use tenancy_vector::{BackendError, Find, Order, OrderFrom, Pair, Search, Strategy, VectorName};

use super::condition::{engine_time, micros};
use super::path;
use super::vector::query_vector;

/// The query of a search, yet without a filter. `None` for one over arms; one to be refined asks for the nearest, among
/// those points that its arms found.
///
/// The threshold is left to whoever asks: the engine's leaves out the score itself.
pub(crate) fn leaf(
    search: &Search,
    limit: usize,
    payload: WithPayloadInterface,
) -> Result<Option<QueryRequest>, BackendError> {
    let Some(query) = scoring(search.find())? else { return Ok(None) };
    Ok(Some(QueryRequest {
        prefetches: Vec::new(),
        query: Some(query),
        filter: None,
        score_threshold: None,
        limit,
        offset: 0,
        params: Some(SearchParams { exact: search.exact(), ..SearchParams::default() }),
        with_vector: false.into(),
        with_payload: payload,
    }))
}

/// An order as the engine's.
pub(crate) fn order(order: &Order) -> Result<OrderBy, BackendError> {
    let start_from = order.from().map(|from| {
        Ok(match from {
            OrderFrom::Integer(number) => StartFrom::Integer(number),
            OrderFrom::Float(number) => StartFrom::Float(number),
            OrderFrom::Datetime(time) => StartFrom::Datetime(engine_time(micros(time))?),
        })
    });
    let direction = if order.is_descending() { Direction::Desc } else { Direction::Asc };
    let key = path(order.key().as_str())?;
    Ok(OrderBy { key, direction: Some(direction), start_from: start_from.transpose()? })
}

fn scoring(find: &Find) -> Result<Option<ScoringQuery>, BackendError> {
    Ok(Some(match find {
        Find::Nearest { using, vector } | Find::Refine { using, vector, .. } => {
            ScoringQuery::Vector(QueryEnum::Nearest(named(using, query_vector(vector))))
        }
        Find::Mmr { using, vector, diversity, candidates } => ScoringQuery::Mmr(Mmr {
            vector: query_vector(vector),
            using: using.as_str().to_owned(),
            // The engine's is how much nearness counts.
            lambda: OrderedFloat(1.0 - diversity),
            candidates_limit: *candidates,
        }),
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
        Find::Ordered(order) => ScoringQuery::OrderBy(self::order(order)?),
        Find::Sample => ScoringQuery::Sample(Sample::Random),
        Find::Fuse { .. } | Find::Rescore { .. } => return Ok(None),
    }))
}

fn pairs(pairs: &[Pair]) -> Vec<ContextPair<VectorInternal>> {
    let pair =
        |pair: &Pair| ContextPair { positive: query_vector(pair.positive()), negative: query_vector(pair.negative()) };
    pairs.iter().map(pair).collect()
}

fn named<T>(using: &VectorName, query: T) -> NamedQuery<T> {
    NamedQuery { query, using: Some(using.as_str().to_owned()) }
}
