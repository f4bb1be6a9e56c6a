//! Searches, and the scope in each of them.

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::query::Variant;
use qdrant_client::qdrant::{start_from, with_payload_selector, with_vectors_selector};

use super::error::QdrantError;
use super::expression::formula;
use super::filter::timestamp;
use super::layout::Place;
use super::value::{self, input};
use crate::filter::Condition;
use crate::query::{Fusion, Ranks};
use crate::request::{
    CountRequest, FacetRequest, Find, Order, OrderFrom, Pair, Position, QueryRequest, ScrollRequest, Search, Strategy,
};
use crate::vector::Vector;

impl Place {
    /// One query of a batch.
    pub(super) fn query(&self, request: &QueryRequest, timeout: u64) -> Result<pb::QueryPoints, QdrantError> {
        let Node { query, using, filter, params, prefetch } = self.node(request.search(), &[])?;
        Ok(pb::QueryPoints {
            collection_name: self.collection.clone(),
            prefetch,
            query: Some(query),
            using,
            filter: Some(filter),
            params: Some(params),
            score_threshold: request.search().threshold(),
            limit: Some(request.search().limit() as u64),
            offset: None,
            with_vectors: Some(with_vectors(request.vectors())),
            with_payload: Some(with_payload()),
            read_consistency: None,
            shard_key_selector: self.shard(),
            lookup_from: None,
            timeout: Some(timeout),
        })
    }

    pub(super) fn scroll(&self, request: &ScrollRequest, timeout: u64) -> pb::ScrollPoints {
        let (offset, order_by) = match request.position() {
            // The server begins at the id it is given; ids are numbers of 128 bits, in their order.
            Position::After(after) => {
                (after.map(|id| value::uuid(uuid::Uuid::from_u128(id.as_u128().saturating_add(1)))), None)
            }
            Position::Ordered(order) => (None, Some(order_by(order))),
        };
        pb::ScrollPoints {
            collection_name: self.collection.clone(),
            filter: Some(self.filter(&request.condition().into_iter().collect::<Vec<_>>())),
            offset,
            limit: Some(u32::try_from(request.limit()).unwrap_or(u32::MAX)),
            with_payload: Some(with_payload()),
            with_vectors: Some(with_vectors(request.vectors())),
            read_consistency: None,
            shard_key_selector: self.shard(),
            order_by,
            timeout: Some(timeout),
        }
    }

    /// Exact always: an estimate is made from what all tenants have.
    pub(super) fn count(&self, request: &CountRequest, timeout: u64) -> pb::CountPoints {
        pb::CountPoints {
            collection_name: self.collection.clone(),
            filter: Some(self.filter(&request.condition().into_iter().collect::<Vec<_>>())),
            exact: Some(true),
            read_consistency: None,
            shard_key_selector: self.shard(),
            timeout: Some(timeout),
        }
    }

    /// Exact, for the same reason.
    pub(super) fn facet(&self, request: &FacetRequest, timeout: u64) -> pb::FacetCounts {
        pb::FacetCounts {
            collection_name: self.collection.clone(),
            key: request.key().as_str().to_owned(),
            filter: Some(self.filter(&request.condition().into_iter().collect::<Vec<_>>())),
            limit: Some(request.limit() as u64),
            exact: Some(true),
            timeout: Some(timeout),
            read_consistency: None,
            shard_key_selector: self.shard(),
        }
    }

    /// A search within another. What narrows the outer one narrows this one too, said here and not left to the server.
    fn prefetch(&self, search: &Search, outer: &[&Condition]) -> Result<pb::PrefetchQuery, QdrantError> {
        let Node { query, using, filter, params, prefetch } = self.node(search, outer)?;
        Ok(pb::PrefetchQuery {
            prefetch,
            query: Some(query),
            using,
            filter: Some(filter),
            params: Some(params),
            score_threshold: search.threshold(),
            limit: Some(search.limit() as u64),
            lookup_from: None,
        })
    }

    fn node(&self, search: &Search, outer: &[&Condition]) -> Result<Node, QdrantError> {
        let conditions: Vec<_> = outer.iter().copied().chain(search.condition()).collect();
        let arms = |arms: &[Search]| arms.iter().map(|arm| self.prefetch(arm, &conditions)).collect();
        let (query, using, vectors, prefetch) = match search.find() {
            Find::Nearest { using, vector } => {
                (Variant::Nearest(input(vector)), Some(using), vec![vector], Ok(Vec::new()))
            }
            Find::Mmr { using, vector, diversity, candidates } => {
                let mmr = pb::Mmr {
                    diversity: Some(*diversity),
                    candidates_limit: Some(u32::try_from(*candidates).unwrap_or(u32::MAX)),
                };
                let query = pb::NearestInputWithMmr { nearest: Some(input(vector)), mmr: Some(mmr) };
                (Variant::NearestWithMmr(query), Some(using), vec![vector], Ok(Vec::new()))
            }
            Find::Recommend { using, like, unlike, strategy } => {
                let strategy = match strategy {
                    Strategy::BestScore => pb::RecommendStrategy::BestScore,
                    Strategy::SumScores => pb::RecommendStrategy::SumScores,
                };
                let query = pb::RecommendInput {
                    positive: like.iter().map(input).collect(),
                    negative: unlike.iter().map(input).collect(),
                    strategy: Some(strategy.into()),
                };
                (Variant::Recommend(query), Some(using), like.iter().chain(unlike).collect(), Ok(Vec::new()))
            }
            Find::Discover { using, target, pairs } => {
                let query = pb::DiscoverInput { target: Some(input(target)), context: Some(context(pairs)) };
                let vectors = pairs.iter().flat_map(both).chain([target]).collect();
                (Variant::Discover(query), Some(using), vectors, Ok(Vec::new()))
            }
            Find::Context { using, pairs } => {
                (Variant::Context(context(pairs)), Some(using), pairs.iter().flat_map(both).collect(), Ok(Vec::new()))
            }
            Find::Ordered(order) => (Variant::OrderBy(order_by(order)), None, Vec::new(), Ok(Vec::new())),
            Find::Sample => (Variant::Sample(pb::Sample::Random.into()), None, Vec::new(), Ok(Vec::new())),
            Find::Fuse { fusion, arms: within } => (fused(fusion), None, Vec::new(), arms(within)),
            Find::Rescore { score, arms: within } => {
                (Variant::Formula(formula(score)?), None, Vec::new(), arms(within))
            }
            Find::Refine { using, vector, arms: within } => {
                (Variant::Nearest(input(vector)), Some(using), vec![vector], arms(within))
            }
        };
        Ok(Node {
            query: pb::Query { variant: Some(query) },
            using: using.map(|name| name.as_str().to_owned()),
            filter: self.filter(&conditions),
            params: self.params(search, &vectors),
            prefetch: prefetch?,
        })
    }

    /// The corpus goes with every node that scores a sparse vector, not with leaves alone: one that refines what its
    /// arms found scores by its own parameters.
    fn params(&self, search: &Search, vectors: &[&Vector]) -> pb::SearchParams {
        let sparse = vectors.iter().any(|vector| matches!(vector, Vector::Sparse(_)));
        pb::SearchParams {
            exact: search.exact().then_some(true),
            idf: sparse.then(|| self.corpus()),
            ..pb::SearchParams::default()
        }
    }
}

/// What a root and a prefetch have in common.
struct Node {
    query: pb::Query,
    using: Option<String>,
    filter: pb::Filter,
    params: pb::SearchParams,
    prefetch: Vec<pb::PrefetchQuery>,
}

fn fused(fusion: &Fusion) -> Variant {
    match fusion {
        // The server's constant counts from the first rank, ours is added to it: one more.
        Fusion::Ranks(ranks) => {
            Variant::Rrf(pb::Rrf { k: Some(u32::from(Ranks::CONSTANT) + 1), weights: ranks.weights().to_vec() })
        }
        Fusion::Scores => Variant::Fusion(pb::Fusion::Dbsf.into()),
    }
}

fn context(pairs: &[Pair]) -> pb::ContextInput {
    let pair = |pair: &Pair| pb::ContextInputPair {
        positive: Some(input(pair.positive())),
        negative: Some(input(pair.negative())),
    };
    pb::ContextInput { pairs: pairs.iter().map(pair).collect() }
}

const fn both(pair: &Pair) -> [&Vector; 2] {
    [pair.positive(), pair.negative()]
}

fn order_by(order: &Order) -> pb::OrderBy {
    let direction = if order.is_descending() { pb::Direction::Desc } else { pb::Direction::Asc };
    let from = order.from().map(|from| match from {
        OrderFrom::Integer(number) => start_from::Value::Integer(number),
        OrderFrom::Float(number) => start_from::Value::Float(number),
        OrderFrom::Datetime(time) => start_from::Value::Timestamp(timestamp(time)),
    });
    pb::OrderBy {
        key: order.key().as_str().to_owned(),
        direction: Some(direction.into()),
        start_from: from.map(|value| pb::StartFrom { value: Some(value) }),
    }
}

/// All of it: the tag is checked on whatever comes back.
const fn with_payload() -> pb::WithPayloadSelector {
    pb::WithPayloadSelector { selector_options: Some(with_payload_selector::SelectorOptions::Enable(true)) }
}

pub(super) const fn without_payload() -> pb::WithPayloadSelector {
    pb::WithPayloadSelector { selector_options: Some(with_payload_selector::SelectorOptions::Enable(false)) }
}

const fn with_vectors(wanted: bool) -> pb::WithVectorsSelector {
    pb::WithVectorsSelector { selector_options: Some(with_vectors_selector::SelectorOptions::Enable(wanted)) }
}
