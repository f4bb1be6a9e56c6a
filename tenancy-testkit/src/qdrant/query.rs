//! From a query of the wire to the engine's, prefetches and all.
//!
//! As on a server: a point given by its id is looked up without any filter, whoever owns it, and is left out of the
//! answers; the filter at the root is added to that of each prefetch (by the engine).

use std::collections::HashMap;

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::query::Variant;
use qdrant_client::qdrant::vector_input::Variant as Input;
use qdrant_edge::external::ordered_float::OrderedFloat;
use qdrant_edge::{
    Condition, ContextPair, ContextQuery, DiscoverQuery, Filter, Fusion, HasIdCondition, Mmr, NamedQuery, PointId,
    Prefetch, QueryEnum, QueryRequest, RecommendQuery, Sample, ScoringQuery, SearchParams, SparseVector,
    VectorInternal, WithVector,
};
use tonic::Status;

use super::convert::{
    formula, missing, named, optional_filter, order_by, payload_selector, plain, point_id, refused, vector_selector,
};
use super::rarity::Rarity;
use super::store::{Collection, Shard};

/// How many answers a query has that says nothing.
const DEFAULT_LIMIT: u64 = 10;

/// What a server takes when a fusion by rank has no constant.
const DEFAULT_RANK_CONSTANT: usize = 2;

/// Lowers the queries of one request for one of the shards that it asks.
pub(super) struct Lowering<'a> {
    collection: &'a Collection,
    /// Where points are looked up by id: all shards of the request.
    shards: &'a [&'a Shard],
    shard: &'a Shard,
    /// The points that were looked up.
    examples: Vec<PointId>,
}

impl<'a> Lowering<'a> {
    pub(super) fn new(collection: &'a Collection, shards: &'a [&'a Shard], shard: &'a Shard) -> Self {
        Self { collection, shards, shard, examples: Vec::new() }
    }

    /// The engine's request. It leaves cutting off the offset to whoever has the answers of all shards.
    pub(super) fn query(mut self, request: pb::QueryPoints) -> Result<QueryRequest, Status> {
        no_lookup(request.lookup_from.as_ref())?;
        let limit = size(request.limit);
        let prefetches = self.prefetches(request.prefetch)?;
        let node = Node { using: request.using.unwrap_or_default(), params: request.params, limit };
        let query = request.query.map(|query| self.scoring(query, &node)).transpose()?;
        if query.is_none() && !prefetches.is_empty() {
            return Err(Status::invalid_argument("A query is needed to merge the prefetches"));
        }
        Ok(QueryRequest {
            prefetches,
            query,
            filter: self.without_examples(optional_filter(request.filter)?),
            score_threshold: request.score_threshold.map(OrderedFloat),
            limit,
            offset: request.offset.unwrap_or_default() as usize,
            params: node.params.map(params),
            with_vector: vector_selector(request.with_vectors),
            with_payload: payload_selector(request.with_payload, false)?,
        })
    }

    fn prefetches(&mut self, prefetches: Vec<pb::PrefetchQuery>) -> Result<Vec<Prefetch>, Status> {
        prefetches.into_iter().map(|prefetch| self.prefetch(prefetch)).collect()
    }

    fn prefetch(&mut self, prefetch: pb::PrefetchQuery) -> Result<Prefetch, Status> {
        no_lookup(prefetch.lookup_from.as_ref())?;
        let limit = size(prefetch.limit);
        let prefetches = self.prefetches(prefetch.prefetch)?;
        let node = Node { using: prefetch.using.unwrap_or_default(), params: prefetch.params, limit };
        let query = prefetch.query.map(|query| self.scoring(query, &node)).transpose()?;
        Ok(Prefetch {
            prefetches,
            query,
            limit,
            params: node.params.map(params),
            filter: optional_filter(prefetch.filter)?,
            score_threshold: prefetch.score_threshold.map(OrderedFloat),
        })
    }

    fn scoring(&mut self, query: pb::Query, node: &Node) -> Result<ScoringQuery, Status> {
        Ok(match query.variant.ok_or_else(|| missing("the variant of a query"))? {
            Variant::Nearest(input) => {
                let vector = self.input(Some(input), node)?;
                ScoringQuery::Vector(QueryEnum::Nearest(node.named(self.weighed(vector, node)?)))
            }
            Variant::NearestWithMmr(input) => {
                let mmr = input.mmr.ok_or_else(|| missing("mmr"))?;
                let vector = self.input(input.nearest, node)?;
                ScoringQuery::Mmr(Mmr {
                    vector: self.weighed(vector, node)?,
                    using: node.using.clone(),
                    lambda: OrderedFloat(1.0 - mmr.diversity.unwrap_or(0.5)),
                    candidates_limit: mmr.candidates_limit.map_or(node.limit, |limit| limit as usize),
                })
            }
            Variant::Recommend(input) => self.recommend(input, node)?,
            Variant::Discover(input) => {
                let target = self.input(input.target, node)?;
                let target = self.weighed(target, node)?;
                let pairs = self.pairs(input.context.unwrap_or_default(), node)?;
                ScoringQuery::Vector(QueryEnum::Discover(node.named(DiscoverQuery::new(target, pairs))))
            }
            Variant::Context(input) => {
                let pairs = self.pairs(input, node)?;
                ScoringQuery::Vector(QueryEnum::Context(node.named(ContextQuery::new(pairs))))
            }
            Variant::OrderBy(order) => ScoringQuery::OrderBy(order_by(order)?),
            Variant::Fusion(fusion) => ScoringQuery::Fusion(match pb::Fusion::try_from(fusion) {
                Ok(pb::Fusion::Rrf) => Fusion::Rrf { k: DEFAULT_RANK_CONSTANT, weights: None },
                Ok(pb::Fusion::Dbsf) => Fusion::Dbsf,
                Err(_) => return Err(Status::invalid_argument("an unknown fusion")),
            }),
            Variant::Rrf(pb::Rrf { k, weights }) => ScoringQuery::Fusion(Fusion::Rrf {
                k: k.map_or(DEFAULT_RANK_CONSTANT, |k| k as usize),
                weights: (!weights.is_empty()).then(|| weights.into_iter().map(OrderedFloat).collect()),
            }),
            Variant::Sample(sample) => match pb::Sample::try_from(sample) {
                Ok(pb::Sample::Random) => ScoringQuery::Sample(Sample::Random),
                Err(_) => return Err(Status::invalid_argument("an unknown sample")),
            },
            Variant::Formula(input) => ScoringQuery::Formula(formula(input)?.try_into().map_err(refused)?),
            Variant::RelevanceFeedback(_) => return Err(Status::unimplemented("feedback is not served")),
            Variant::Text(_) => return Err(Status::unimplemented("the engine has no text queries")),
        })
    }

    fn recommend(&mut self, input: pb::RecommendInput, node: &Node) -> Result<ScoringQuery, Status> {
        let mut examples = |inputs: Vec<pb::VectorInput>| {
            let examples = inputs.into_iter().map(|input| self.example(input, node));
            examples.filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()
        };
        let (positive, negative) = (examples(input.positive)?, examples(input.negative)?);
        if positive.is_empty() && negative.is_empty() {
            return Err(Status::invalid_argument("a recommendation needs an example"));
        }
        let strategy = input.strategy.unwrap_or(pb::RecommendStrategy::AverageVector.into());
        let strategy = pb::RecommendStrategy::try_from(strategy);
        if strategy == Ok(pb::RecommendStrategy::AverageVector) {
            let vector = self.weighed(average(&positive, &negative)?, node)?;
            return Ok(ScoringQuery::Vector(QueryEnum::Nearest(node.named(vector))));
        }
        let all = |this: &Self, vectors: Vec<VectorInternal>| {
            vectors.into_iter().map(|vector| this.weighed(vector, node)).collect::<Result<Vec<_>, _>>()
        };
        let query = node.named(RecommendQuery::new(all(self, positive)?, all(self, negative)?));
        Ok(ScoringQuery::Vector(match strategy {
            Ok(pb::RecommendStrategy::BestScore) => QueryEnum::RecommendBestScore(query),
            Ok(pb::RecommendStrategy::SumScores) => QueryEnum::RecommendSumScores(query),
            Ok(pb::RecommendStrategy::AverageVector) | Err(_) => {
                return Err(Status::invalid_argument("an unknown strategy"));
            }
        }))
    }

    fn pairs(&mut self, context: pb::ContextInput, node: &Node) -> Result<Vec<ContextPair<VectorInternal>>, Status> {
        let pairs = context.pairs.into_iter().map(|pair| {
            let (positive, negative) = (self.input(pair.positive, node)?, self.input(pair.negative, node)?);
            Ok(ContextPair { positive: self.weighed(positive, node)?, negative: self.weighed(negative, node)? })
        });
        pairs.collect()
    }

    fn input(&mut self, input: Option<pb::VectorInput>, node: &Node) -> Result<VectorInternal, Status> {
        let vector = self.example(input.ok_or_else(|| missing("a vector"))?, node)?;
        vector.ok_or_else(|| Status::invalid_argument(format!("the point has no vector `{}`", node.using)))
    }

    /// The vector, or that of the point; none when the point has none by that name.
    fn example(&mut self, input: pb::VectorInput, node: &Node) -> Result<Option<VectorInternal>, Status> {
        use pb::vector::Vector as Kind;
        let kind = match input.variant.ok_or_else(|| missing("a vector"))? {
            Input::Id(id) => return self.look_up(point_id(id)?, &node.using),
            Input::Dense(dense) => Kind::Dense(dense),
            Input::Sparse(sparse) => Kind::Sparse(sparse),
            Input::MultiDense(rows) => Kind::MultiDense(rows),
            Input::Document(document) => Kind::Document(document),
            Input::Image(image) => Kind::Image(image),
            Input::Object(object) => Kind::Object(object),
        };
        plain(kind).map(Some)
    }

    fn look_up(&mut self, id: PointId, using: &str) -> Result<Option<VectorInternal>, Status> {
        for shard in self.shards {
            let vectors = WithVector::Selector(vec![using.to_owned()]);
            let found = shard.engine.retrieve(&[id], Some(false.into()), Some(vectors)).map_err(refused)?;
            if let Some(record) = found.into_iter().next() {
                self.examples.push(id);
                return Ok(record.vector.and_then(|vectors| named(vectors).remove(using)));
            }
        }
        Err(Status::not_found(format!("Not found: No point with id {id} found")))
    }

    /// The vector with its terms weighed, if it is one of those whose terms are.
    fn weighed(&self, mut vector: VectorInternal, node: &Node) -> Result<VectorInternal, Status> {
        if let VectorInternal::Sparse(sparse) = &mut vector
            && self.collection.weighed.contains(&node.using)
        {
            let idf = node.params.as_ref().and_then(|params| params.idf.clone());
            let corpus = optional_filter(idf.and_then(|idf| idf.corpus))?;
            Rarity::count(self.shard, &node.using, corpus.as_ref())?.weigh(sparse);
        }
        Ok(vector)
    }

    fn without_examples(&self, filter: Option<Filter>) -> Option<Filter> {
        if self.examples.is_empty() {
            return filter;
        }
        let mut filter = filter.unwrap_or_default();
        let examples = Condition::HasId(self.examples.iter().copied().collect::<HasIdCondition>());
        filter.must_not.get_or_insert_default().push(examples);
        Some(filter)
    }
}

/// What the parts of one query need to know of it.
struct Node {
    using: String,
    params: Option<pb::SearchParams>,
    limit: usize,
}

impl Node {
    fn named<T>(&self, query: T) -> NamedQuery<T> {
        NamedQuery { query, using: Some(self.using.clone()) }
    }
}

/// What the engine has of the parameters. Its searches are exact here, since no index is ever built.
fn params(params: pb::SearchParams) -> SearchParams {
    SearchParams { exact: params.exact.unwrap_or_default(), ..Default::default() }
}

fn size(limit: Option<u64>) -> usize {
    limit.unwrap_or(DEFAULT_LIMIT) as usize
}

fn no_lookup(from: Option<&pb::LookupLocation>) -> Result<(), Status> {
    match from {
        None => Ok(()),
        Some(_) => Err(Status::unimplemented("points are looked up in the collection that is asked")),
    }
}

/// The middle of the positive examples, moved away from that of the negative ones.
fn average(positive: &[VectorInternal], negative: &[VectorInternal]) -> Result<VectorInternal, Status> {
    if positive.is_empty() {
        return Err(Status::invalid_argument("At least one positive vector is required for the average strategy"));
    }
    let weights = |negatives: bool| if negatives { (2.0, -1.0) } else { (1.0, 0.0) };
    let (toward, away) = weights(!negative.is_empty());
    let parts = |vectors: &[VectorInternal], weight: f32| {
        let weight = weight / vectors.len().max(1) as f32;
        vectors.iter().cloned().map(move |vector| (vector, weight)).collect::<Vec<_>>()
    };
    let mut sums: HashMap<u32, f32> = HashMap::new();
    let mut width = None;
    for (vector, weight) in parts(positive, toward).into_iter().chain(parts(negative, away)) {
        let (kind, indices, values) = match vector {
            VectorInternal::Dense(dense) => (Some(dense.len()), (0..dense.len() as u32).collect::<Vec<_>>(), dense),
            VectorInternal::Sparse(SparseVector { indices, values }) => (None, indices, values),
            VectorInternal::MultiDense(_) => return Err(Status::unimplemented("no average of several rows")),
        };
        if *width.get_or_insert(kind) != kind {
            return Err(Status::invalid_argument("the examples differ in shape"));
        }
        for (index, value) in indices.into_iter().zip(values) {
            *sums.entry(index).or_default() += value * weight;
        }
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_unstable_by_key(|(index, _)| *index);
    let (indices, values): (Vec<_>, Vec<_>) = sums.into_iter().unzip();
    Ok(match width.flatten() {
        Some(_) => VectorInternal::Dense(values),
        None => VectorInternal::Sparse(SparseVector { indices, values }),
    })
}
