//! Points: their ids, what selects them, and how they are answered.

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::point_id::PointIdOptions;
use qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use qdrant_edge::{
    Direction, Filter, OrderBy, OrderValue, PayloadSelectorExclude, PayloadSelectorInclude, PointId,
    PointStructPersisted, Record, ScoredPoint, StartFrom, WithPayloadInterface, WithVector,
};
use tonic::Status;

use super::vector::{stored, wire_vectors};
use super::{filter, missing, path, payload, wire_payload};

pub(crate) fn point_id(id: pb::PointId) -> Result<PointId, Status> {
    match id.point_id_options.ok_or_else(|| missing("the id of a point"))? {
        PointIdOptions::Num(number) => Ok(PointId::NumId(number)),
        PointIdOptions::Uuid(text) => text
            .parse()
            .map(PointId::Uuid)
            .map_err(|_| Status::invalid_argument(format!("unable to parse UUID: {text}"))),
    }
}

pub(crate) fn wire_id(id: PointId) -> pb::PointId {
    let id = match id {
        PointId::NumId(number) => PointIdOptions::Num(number),
        PointId::Uuid(uuid) => PointIdOptions::Uuid(uuid.to_string()),
    };
    pb::PointId { point_id_options: Some(id) }
}

pub(crate) fn persisted(point: pb::PointStruct) -> Result<PointStructPersisted, Status> {
    let pb::PointStruct { id, payload: fields, vectors } = point;
    Ok(PointStructPersisted {
        id: point_id(id.ok_or_else(|| missing("the id of a point"))?)?,
        vector: stored(vectors)?,
        payload: Some(payload(fields)?),
    })
}

pub(crate) fn vectors_of(point: pb::PointVectors) -> Result<qdrant_edge::PointVectorsPersisted, Status> {
    let pb::PointVectors { id, vectors } = point;
    Ok(qdrant_edge::PointVectorsPersisted {
        id: point_id(id.ok_or_else(|| missing("the id of a point"))?)?,
        vector: stored(Some(vectors.ok_or_else(|| missing("the vectors of a point"))?))?,
    })
}

/// What a write is about.
#[derive(Clone)]
pub(crate) enum Selected {
    Ids(Vec<PointId>),
    Filter(Filter),
}

pub(crate) fn selected(selector: Option<pb::PointsSelector>) -> Result<Selected, Status> {
    match selector.and_then(|selector| selector.points_selector_one_of).ok_or_else(|| missing("the points selector"))? {
        PointsSelectorOneOf::Points(list) => {
            list.ids.into_iter().map(point_id).collect::<Result<_, _>>().map(Selected::Ids)
        }
        PointsSelectorOneOf::Filter(wanted) => filter(wanted).map(Selected::Filter),
    }
}

pub(crate) fn payload_selector(
    selector: Option<pb::WithPayloadSelector>,
    default: bool,
) -> Result<WithPayloadInterface, Status> {
    use pb::with_payload_selector::SelectorOptions;
    let paths = |fields: Vec<String>| fields.iter().map(|field| path(field)).collect::<Result<Vec<_>, _>>();
    Ok(match selector.and_then(|selector| selector.selector_options) {
        None => WithPayloadInterface::Bool(default),
        Some(SelectorOptions::Enable(flag)) => WithPayloadInterface::Bool(flag),
        Some(SelectorOptions::Include(include)) => PayloadSelectorInclude::new(paths(include.fields)?).into(),
        Some(SelectorOptions::Exclude(exclude)) => PayloadSelectorExclude::new(paths(exclude.fields)?).into(),
    })
}

pub(crate) fn vector_selector(selector: Option<pb::WithVectorsSelector>) -> WithVector {
    use pb::with_vectors_selector::SelectorOptions;
    match selector.and_then(|selector| selector.selector_options) {
        None => WithVector::Bool(false),
        Some(SelectorOptions::Enable(flag)) => WithVector::Bool(flag),
        Some(SelectorOptions::Include(include)) => WithVector::Selector(include.names),
    }
}

pub(crate) fn order_by(order: pb::OrderBy) -> Result<OrderBy, Status> {
    use pb::start_from::Value;
    let time = |text: String| text.parse().map_err(|_| Status::invalid_argument("unable to parse a time"));
    let start_from = match order.start_from.and_then(|start| start.value) {
        None => None,
        Some(Value::Float(number)) => Some(StartFrom::Float(number)),
        Some(Value::Integer(number)) => Some(StartFrom::Integer(number)),
        Some(Value::Timestamp(stamp)) => Some(StartFrom::Datetime(time(stamp.to_string())?)),
        Some(Value::Datetime(text)) => Some(StartFrom::Datetime(time(text)?)),
    };
    let direction = match order.direction.map(pb::Direction::try_from) {
        None => None,
        Some(Ok(pb::Direction::Asc)) => Some(Direction::Asc),
        Some(Ok(pb::Direction::Desc)) => Some(Direction::Desc),
        Some(Err(_)) => return Err(Status::invalid_argument("an unknown direction")),
    };
    Ok(OrderBy { key: path(&order.key)?, direction, start_from })
}

pub(crate) fn scored(point: ScoredPoint, shard_key: Option<pb::ShardKey>) -> pb::ScoredPoint {
    pb::ScoredPoint {
        id: Some(wire_id(point.id)),
        payload: point.payload.map(wire_payload).unwrap_or_default(),
        score: point.score,
        version: point.version,
        vectors: point.vector.map(wire_vectors),
        shard_key,
        order_value: point.order_value.map(order_value),
    }
}

pub(crate) fn retrieved(record: Record, shard_key: Option<pb::ShardKey>) -> pb::RetrievedPoint {
    pb::RetrievedPoint {
        id: Some(wire_id(record.id)),
        payload: record.payload.map(wire_payload).unwrap_or_default(),
        vectors: record.vector.map(wire_vectors),
        shard_key,
        order_value: record.order_value.map(order_value),
    }
}

fn order_value(value: OrderValue) -> pb::OrderValue {
    let variant = match value {
        OrderValue::Int(number) => pb::order_value::Variant::Int(number),
        OrderValue::Float(number) => pb::order_value::Variant::Float(number),
    };
    pb::OrderValue { variant: Some(variant) }
}
