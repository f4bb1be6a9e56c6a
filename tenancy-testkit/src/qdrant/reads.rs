//! What reads answer. A read that asks several shards merges their answers; one whose score depends on its rank among
//! the others is not served over several.

use std::cmp::Ordering;
use std::collections::HashMap;

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::query::Variant;
use qdrant_edge::{CountRequest, Direction, FacetRequest, FacetValue, OrderByInterface, OrderValue, ScrollRequest};
use tonic::Status;

use super::convert::{
    optional_filter, order_by, path, payload_selector, point_id, refused, retrieved, scored, vector_selector, wire_id,
};
use super::query::Lowering;
use super::store::{Collection, Store};

pub(super) fn query(store: &Store, request: pb::QueryPoints) -> Result<pb::QueryResponse, Status> {
    let collection = store.collection(&request.collection_name)?;
    Ok(pb::QueryResponse { result: answers(collection, request)?, ..Default::default() })
}

/// Each query names its collection or none; the batch's is asked, as on a server.
pub(super) fn query_batch(store: &Store, request: pb::QueryBatchPoints) -> Result<pb::QueryBatchResponse, Status> {
    let collection = store.collection(&request.collection_name)?;
    let results = request.query_points.into_iter().map(|query| answers(collection, query));
    let results = results.map(|result| Ok(pb::BatchResult { result: result? }));
    Ok(pb::QueryBatchResponse { result: results.collect::<Result<_, Status>>()?, ..Default::default() })
}

pub(super) fn scroll(store: &Store, request: pb::ScrollPoints) -> Result<pb::ScrollResponse, Status> {
    let collection = store.collection(&request.collection_name)?;
    let limit = request.limit.unwrap_or(10) as usize;
    if limit == 0 {
        return Err(Status::invalid_argument("the limit must be at least 1"));
    }
    let order = request.order_by.map(order_by).transpose()?;
    let scroll = ScrollRequest {
        offset: request.offset.map(point_id).transpose()?,
        // One more than is answered says where to go on.
        limit: Some(limit + 1),
        filter: optional_filter(request.filter)?,
        with_payload: Some(payload_selector(request.with_payload, true)?),
        with_vector: vector_selector(request.with_vectors),
        order_by: order.clone().map(OrderByInterface::Struct),
    };
    let mut records = Vec::new();
    for shard in collection.reading(request.shard_key_selector)? {
        let (found, _) = shard.engine.scroll(scroll.clone()).map_err(refused)?;
        records.extend(found.into_iter().map(|record| (record, shard.key.clone())));
    }
    let mut next_page_offset = None;
    match order {
        Some(order) => records.sort_by(|(a, _), (b, _)| by_value(order.direction(), a.order_value, b.order_value)),
        None => {
            records.sort_by_key(|(record, _)| record.id);
            next_page_offset = records.get(limit).map(|(record, _)| wire_id(record.id));
        }
    }
    records.truncate(limit);
    let result = records.into_iter().map(|(record, key)| retrieved(record, key)).collect();
    Ok(pb::ScrollResponse { result, next_page_offset, ..Default::default() })
}

/// By id and nothing else: whoever owns the point.
pub(super) fn get(store: &Store, request: pb::GetPoints) -> Result<pb::GetResponse, Status> {
    let collection = store.collection(&request.collection_name)?;
    let ids = request.ids.into_iter().map(point_id).collect::<Result<Vec<_>, _>>()?;
    let payload = payload_selector(request.with_payload, true)?;
    let vectors = vector_selector(request.with_vectors);
    let mut result = Vec::new();
    for shard in collection.reading(request.shard_key_selector)? {
        let found = shard.engine.retrieve(&ids, Some(payload.clone()), Some(vectors.clone())).map_err(refused)?;
        result.extend(found.into_iter().map(|record| retrieved(record, shard.key.clone())));
    }
    Ok(pb::GetResponse { result, ..Default::default() })
}

pub(super) fn count(store: &Store, request: pb::CountPoints) -> Result<pb::CountResponse, Status> {
    let collection = store.collection(&request.collection_name)?;
    let filter = optional_filter(request.filter)?;
    let exact = request.exact.unwrap_or(true);
    let mut count = 0;
    for shard in collection.reading(request.shard_key_selector)? {
        count += shard.engine.count(CountRequest { filter: filter.clone(), exact }).map_err(refused)? as u64;
    }
    Ok(pb::CountResponse { result: Some(pb::CountResult { count }), ..Default::default() })
}

pub(super) fn facet(store: &Store, request: pb::FacetCounts) -> Result<pb::FacetResponse, Status> {
    let collection = store.collection(&request.collection_name)?;
    let limit = request.limit.unwrap_or(10) as usize;
    let facet = FacetRequest {
        key: path(&request.key)?,
        // Across shards the best values of each need not be the best of all.
        limit: usize::MAX,
        filter: optional_filter(request.filter)?,
        exact: request.exact.unwrap_or_default(),
    };
    let mut counts: HashMap<FacetValue, usize> = HashMap::new();
    for shard in collection.reading(request.shard_key_selector)? {
        for hit in shard.engine.facet(facet.clone()).map_err(refused)?.hits {
            *counts.entry(hit.value).or_default() += hit.count;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|(a, na), (b, nb)| nb.cmp(na).then_with(|| a.cmp(b)));
    counts.truncate(limit);
    let hits =
        counts.into_iter().map(|(value, count)| pb::FacetHit { value: Some(facet_value(value)), count: count as u64 });
    Ok(pb::FacetResponse { hits: hits.collect(), ..Default::default() })
}

fn answers(collection: &Collection, mut request: pb::QueryPoints) -> Result<Vec<pb::ScoredPoint>, Status> {
    let shards = collection.reading(request.shard_key_selector.take())?;
    let order = Order::of(collection, &request);
    if shards.len() > 1 && (order == Order::Rank || !request.prefetch.is_empty()) {
        return Err(Status::unimplemented("a query by ranks or with prefetches is served over one shard key only"));
    }
    let (mut found, mut cut) = (Vec::new(), (0, 0));
    for shard in &shards {
        let lowered = Lowering::new(collection, &shards, shard).query(request.clone())?;
        cut = (lowered.offset, lowered.limit);
        found.extend(shard.engine.query(lowered).map_err(refused)?.into_iter().map(|point| (point, shard.key.clone())));
    }
    if shards.len() > 1 {
        found.sort_by(|(a, _), (b, _)| match order {
            Order::Falling => b.score.total_cmp(&a.score),
            Order::Rising => a.score.total_cmp(&b.score),
            Order::Value(direction) => by_value(direction, a.order_value, b.order_value),
            Order::Id => a.id.cmp(&b.id),
            Order::Rank => Ordering::Equal,
        });
    }
    let (offset, limit) = cut;
    Ok(found.into_iter().skip(offset).take(limit).map(|(point, key)| scored(point, key)).collect())
}

/// What decides between the answers of two shards.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Falling,
    Rising,
    Value(Direction),
    Id,
    /// Nothing does.
    Rank,
}

impl Order {
    fn of(collection: &Collection, request: &pb::QueryPoints) -> Self {
        match request.query.as_ref().and_then(|query| query.variant.as_ref()) {
            None => Self::Id,
            Some(Variant::Nearest(_)) if collection.smaller_is_better(request.using()) => Self::Rising,
            Some(Variant::Recommend(recommend))
                if recommend.strategy() == pb::RecommendStrategy::AverageVector
                    && collection.smaller_is_better(request.using()) =>
            {
                Self::Rising
            }
            Some(Variant::OrderBy(order)) => Self::Value(match order.direction() {
                pb::Direction::Asc => Direction::Asc,
                pb::Direction::Desc => Direction::Desc,
            }),
            Some(Variant::Nearest(_) | Variant::Recommend(_) | Variant::Discover(_) | Variant::Context(_)) => {
                Self::Falling
            }
            Some(Variant::Sample(_)) => Self::Falling,
            Some(
                Variant::Fusion(_)
                | Variant::Rrf(_)
                | Variant::Formula(_)
                | Variant::NearestWithMmr(_)
                | Variant::RelevanceFeedback(_)
                | Variant::Text(_),
            ) => Self::Rank,
        }
    }
}

fn by_value(direction: Direction, a: Option<OrderValue>, b: Option<OrderValue>) -> Ordering {
    let number = |value: Option<OrderValue>| match value {
        Some(OrderValue::Int(number)) => number as f64,
        Some(OrderValue::Float(number)) => number,
        None => f64::NAN,
    };
    let rising = number(a).total_cmp(&number(b));
    match direction {
        Direction::Asc => rising,
        Direction::Desc => rising.reverse(),
    }
}

fn facet_value(value: FacetValue) -> pb::FacetValue {
    use pb::facet_value::Variant;
    let variant = match value {
        FacetValue::Keyword(text) => Variant::StringValue(text),
        FacetValue::Int(number) => Variant::IntegerValue(number),
        FacetValue::Uuid(uuid) => Variant::StringValue(qdrant_edge::external::uuid::Uuid::from_u128(uuid).to_string()),
        FacetValue::Bool(flag) => Variant::BoolValue(flag),
    };
    pb::FacetValue { variant: Some(variant) }
}
