//! Writes, as operations of one batch.

use std::collections::{BTreeMap, BTreeSet};

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::points_update_operation::{
    DeletePayload, DeletePoints, DeleteVectors, Operation, OverwritePayload, PointStructList, SetPayload, UpdateVectors,
};

use serde_json::{Map, Value};

use super::layout::Place;
use super::value;
use crate::filter::{Condition, Filter};
use crate::id::PointKey;
use crate::name::VectorName;
use crate::request::{Selector, TaggedPoint, TaggedVectors, UpsertMode, Write};
use crate::schema::Schema;
use crate::vector::Vector;

impl Place {
    /// The operations of one write, to be done in their order.
    pub(super) fn operations(&self, schema: &Schema, write: Write) -> Vec<pb::PointsUpdateOperation> {
        let operations = match write {
            Write::Upsert { points, mode } => return self.upsert(schema, points, &mode),
            Write::SetVectors(points) => return self.set_vectors(points),
            Write::DeleteVectors(selector, names) => self.delete_vectors(&selector, names.iter()),
            Write::SetPayload(selector, payload, at) => Operation::SetPayload(SetPayload {
                payload: value::payload(payload),
                points_selector: Some(self.selector(&selector)),
                shard_key_selector: self.shard(),
                key: at.map(|at| at.as_str().to_owned()),
            }),
            Write::OverwritePayload(key, payload) => Operation::OverwritePayload(OverwritePayload {
                payload: value::payload(payload),
                points_selector: Some(self.selector(&Selector::Keys(vec![key]))),
                shard_key_selector: self.shard(),
                key: None,
            }),
            Write::DeletePayload(selector, keys) => Operation::DeletePayload(DeletePayload {
                keys: keys.iter().map(|key| key.as_str().to_owned()).collect(),
                points_selector: Some(self.selector(&selector)),
                shard_key_selector: self.shard(),
            }),
            Write::Delete(selector) => Operation::DeletePoints(DeletePoints {
                points: Some(self.selector(&selector)),
                shard_key_selector: self.shard(),
            }),
        };
        vec![operation(operations)]
    }

    /// Every point of the life.
    pub(super) fn delete_all(&self) -> pb::PointsUpdateOperation {
        operation(Operation::DeletePoints(DeletePoints {
            points: Some(self.selector(&Selector::Matching(None))),
            shard_key_selector: self.shard(),
        }))
    }

    /// The points, and before them the vectors that they do not bring any more: a server keeps those of the point that
    /// is replaced, which is then found by what it said before.
    fn upsert(&self, schema: &Schema, points: Vec<TaggedPoint>, mode: &UpsertMode) -> Vec<pb::PointsUpdateOperation> {
        let keys: Vec<_> = points.iter().map(|point| *point.key()).collect();
        let (condition, update_mode) = match mode {
            UpsertMode::Replace => (None, pb::UpdateMode::Upsert),
            UpsertMode::Insert => (None, pb::UpdateMode::InsertOnly),
            UpsertMode::Update(condition) => (condition.as_ref(), pb::UpdateMode::UpdateOnly),
        };
        let mut operations = match mode {
            UpsertMode::Replace | UpsertMode::Update(_) => self.stale(schema, &points, condition),
            UpsertMode::Insert => Vec::new(),
        };
        operations.push(operation(Operation::Upsert(PointStructList {
            points: points.into_iter().map(point).collect(),
            shard_key_selector: self.shard(),
            update_filter: Some(self.own(keys, condition)),
            update_mode: Some(update_mode.into()),
        })));
        operations
    }

    fn stale(
        &self,
        schema: &Schema,
        points: &[TaggedPoint],
        condition: Option<&Condition>,
    ) -> Vec<pb::PointsUpdateOperation> {
        let missing = points.iter().map(|point| {
            let brought = |name: &VectorName| point.vectors().get(name).is_some_and(|vector| !vector.is_empty());
            (*point.key(), schema.vectors().map(|(name, _)| name).filter(|name| !brought(name)).collect())
        });
        self.without(missing, condition)
    }

    /// Takes vectors away, with one operation for those points that lose the same ones.
    fn without<'a>(
        &self,
        points: impl Iterator<Item = (PointKey, BTreeSet<&'a VectorName>)>,
        condition: Option<&Condition>,
    ) -> Vec<pb::PointsUpdateOperation> {
        let mut losing = BTreeMap::<_, Vec<PointKey>>::new();
        for (key, names) in points.filter(|(_, names)| !names.is_empty()) {
            losing.entry(names).or_default().push(key);
        }
        let delete = |(names, keys): (BTreeSet<&VectorName>, Vec<PointKey>)| {
            let keys = Filter::HasId(keys);
            let those = match condition {
                None => keys,
                Some(condition) => Filter::All(vec![keys, condition.clone()]),
            };
            operation(self.delete_vectors(&Selector::Matching(Some(those)), names.into_iter()))
        };
        losing.into_iter().map(delete).collect()
    }

    /// A vector of a text without terms is taken away: a server keeps what it is not told about.
    fn set_vectors(&self, points: Vec<TaggedVectors>) -> Vec<pb::PointsUpdateOperation> {
        let empty = points.iter().map(|point| {
            let empty = point.vectors().iter().filter(|(_, vector)| vector.is_empty());
            (*point.key(), empty.map(|(name, _)| name).collect())
        });
        let mut operations = self.without(empty, None);
        let (mut keys, mut list) = (Vec::new(), Vec::new());
        for (key, vectors) in points.into_iter().map(TaggedVectors::into_parts) {
            if vectors.values().any(|vector| !vector.is_empty()) {
                keys.push(key);
                list.push(pb::PointVectors { id: Some(value::engine_id(&key)), vectors: Some(value::named(vectors)) });
            }
        }
        if !keys.is_empty() {
            operations.push(operation(Operation::UpdateVectors(UpdateVectors {
                points: list,
                shard_key_selector: self.shard(),
                update_filter: Some(self.own(keys, None)),
            })));
        }
        operations
    }

    fn delete_vectors<'a>(&self, selector: &Selector, names: impl Iterator<Item = &'a VectorName>) -> Operation {
        let names = names.map(|name| name.as_str().to_owned()).collect();
        Operation::DeleteVectors(DeleteVectors {
            points_selector: Some(self.selector(selector)),
            vectors: Some(pb::VectorsSelector { names }),
            shard_key_selector: self.shard(),
        })
    }

    /// Which of the points that are there may be written over: these, of this life. Others with their ids stay.
    fn own(&self, keys: Vec<PointKey>, condition: Option<&Condition>) -> pb::Filter {
        let keys = Filter::HasId(keys);
        self.filter(&std::iter::once(&keys).chain(condition).collect::<Vec<_>>())
    }
}

fn point(point: TaggedPoint) -> pb::PointStruct {
    let (key, vectors, payload) = point.into_parts();
    pb::PointStruct {
        id: Some(value::engine_id(&key)),
        payload: value::payload(payload),
        vectors: Some(value::named(vectors)),
    }
}

const fn operation(operation: Operation) -> pb::PointsUpdateOperation {
    pb::PointsUpdateOperation { operation: Some(operation) }
}

/// A write as several of a size that a server takes at once.
pub(super) fn split(write: Write) -> Vec<Write> {
    let select = |selector: Selector| match selector {
        Selector::Keys(keys) => keys.chunks(BATCH).map(|keys| Selector::Keys(keys.to_vec())).collect(),
        matching @ Selector::Matching(_) => vec![matching],
    };
    match write {
        Write::Upsert { points, mode } => {
            let parts = by_weight(points, |point| weight(point.vectors()) + map_weight(point.payload()));
            parts.into_iter().map(|points| Write::Upsert { points, mode: mode.clone() }).collect()
        }
        Write::SetVectors(points) => {
            by_weight(points, |point| weight(point.vectors())).into_iter().map(Write::SetVectors).collect()
        }
        Write::DeleteVectors(selector, names) => {
            select(selector).into_iter().map(|those| Write::DeleteVectors(those, names.clone())).collect()
        }
        Write::SetPayload(selector, payload, at) => {
            let set = |those| Write::SetPayload(those, payload.clone(), at.clone());
            select(selector).into_iter().map(set).collect()
        }
        Write::DeletePayload(selector, keys) => {
            select(selector).into_iter().map(|those| Write::DeletePayload(those, keys.clone())).collect()
        }
        Write::Delete(selector) => select(selector).into_iter().map(Write::Delete).collect(),
        Write::OverwritePayload(..) => vec![write],
    }
}

fn by_weight<T>(items: Vec<T>, weight: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let (mut parts, mut room) = (Vec::<Vec<T>>::new(), 0);
    for item in items {
        let weight = weight(&item);
        match parts.last_mut() {
            Some(part) if weight <= room && part.len() < BATCH => {
                part.push(item);
                room -= weight;
            }
            Some(_) | None => {
                parts.push(vec![item]);
                room = MOST_BYTES.saturating_sub(weight);
            }
        }
    }
    parts
}

/// About how many bytes vectors are on the wire.
fn weight(vectors: &BTreeMap<VectorName, Vector>) -> usize {
    let numbers = |vector: &Vector| match vector {
        Vector::Dense(dense) => dense.dimension(),
        Vector::Sparse(sparse) => 2 * sparse.indices().len(),
        Vector::Multi(multi) => multi.rows().len() * multi.dimension(),
    };
    vectors.values().map(|vector| 64 + 5 * numbers(vector)).sum()
}

fn map_weight(payload: &Map<String, Value>) -> usize {
    payload.iter().map(|(key, value)| 16 + key.len() + value_weight(value)).sum()
}

fn value_weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 16,
        Value::String(text) => 16 + text.len(),
        Value::Array(items) => 16 + items.iter().map(value_weight).sum::<usize>(),
        Value::Object(map) => 16 + map_weight(map),
    }
}

/// The most points of one request. Their ids and digests are a condition of it.
pub(super) const BATCH: usize = 500;
/// A server takes 32 MiB.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// Whether a write may be sent again when it may have been done: what it leaves must not depend on what was there.
pub(super) const fn may_repeat(write: &Write) -> bool {
    match write {
        Write::Upsert { mode: UpsertMode::Replace, .. } | Write::SetVectors(_) | Write::OverwritePayload(..) => true,
        // A point that somebody deleted meanwhile would come back, or one that was changed be changed again.
        Write::Upsert { mode: UpsertMode::Insert | UpsertMode::Update(_), .. } => false,
        Write::DeleteVectors(selector, _)
        | Write::SetPayload(selector, ..)
        | Write::DeletePayload(selector, _)
        | Write::Delete(selector) => match selector {
            Selector::Keys(_) => true,
            // It would reach points that came to meet the condition meanwhile.
            Selector::Matching(_) => false,
        },
    }
}

/// The operations of a batch, by what they are called on the wire, for those who count them.
#[cfg(test)]
pub(super) fn name(operation: &Operation) -> &'static str {
    #[expect(deprecated, reason = "they are named to be seen")]
    match operation {
        Operation::Upsert(_) => "upsert",
        Operation::DeleteDeprecated(_) => "delete_deprecated",
        Operation::SetPayload(_) => "set_payload",
        Operation::OverwritePayload(_) => "overwrite_payload",
        Operation::DeletePayload(_) => "delete_payload",
        Operation::ClearPayloadDeprecated(_) => "clear_payload_deprecated",
        Operation::UpdateVectors(_) => "update_vectors",
        Operation::DeleteVectors(_) => "delete_vectors",
        Operation::DeletePoints(_) => "delete_points",
        Operation::ClearPayload(_) => "clear_payload",
    }
}
