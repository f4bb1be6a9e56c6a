//! Payloads, vectors and ids, there and back.

use std::collections::{BTreeMap, HashMap};

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::point_id::PointIdOptions;
use qdrant_client::qdrant::value::Kind;
use qdrant_client::qdrant::{vector, vector_input, vector_output, vectors, vectors_output};
use serde_json::{Map, Number, Value};
use uuid::Uuid;

use super::error::QdrantError;
use crate::id::PointKey;
use crate::name::VectorName;
use crate::reserved;
use crate::tag::Tag;
use crate::vector::{DenseVector, MultiVector, SparseVector, Vector};

pub(super) fn engine_id(key: &PointKey) -> pb::PointId {
    uuid(key.engine_id())
}

pub(super) fn uuid(id: Uuid) -> pb::PointId {
    pb::PointId { point_id_options: Some(PointIdOptions::Uuid(id.hyphenated().to_string())) }
}

pub(super) fn payload(payload: Map<String, Value>) -> HashMap<String, pb::Value> {
    payload.into_iter().map(|(key, value)| (key, lower(value))).collect()
}

pub(super) fn payload_back(payload: HashMap<String, pb::Value>) -> Map<String, Value> {
    payload.into_iter().map(|(key, value)| (key, raise(value))).collect()
}

/// A payload as it was stored, and the tag in it if that has the one form that we write. Names are compared as they come:
/// looking each up in a table of two or three, ten times an answer, costs more.
pub(super) fn tagged_back(payload: HashMap<String, pb::Value>) -> (Option<Tag>, Map<String, Value>) {
    let (mut tag, mut rest) = (None, Map::new());
    for (key, value) in payload {
        if key == reserved::KEY {
            tag = tag_back(value);
        } else {
            rest.insert(key, raise(value));
        }
    }
    (tag, rest)
}

fn tag_back(value: pb::Value) -> Option<Tag> {
    let Some(Kind::StructValue(tag)) = value.kind else { return None };
    let (mut life, mut digest, mut id) = (None, None, None);
    for (name, value) in tag.fields {
        let Some(Kind::StringValue(text)) = value.kind else { return None };
        match name.as_str() {
            reserved::LIFE => life = Some(text),
            reserved::DIGEST => digest = Some(text),
            reserved::ID => id = Some(text),
            _other => return None,
        }
    }
    Some(Tag { life: life?, digest: digest?, id: id? })
}

fn lower(value: Value) -> pb::Value {
    let kind = match value {
        Value::Null => Kind::NullValue(pb::NullValue::NullValue.into()),
        Value::Bool(flag) => Kind::BoolValue(flag),
        // A number beyond i64 has no exact form on the wire.
        Value::Number(number) => match number.as_i64() {
            Some(number) => Kind::IntegerValue(number),
            None => Kind::DoubleValue(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Kind::StringValue(text),
        Value::Array(items) => Kind::ListValue(pb::ListValue { values: items.into_iter().map(lower).collect() }),
        Value::Object(map) => Kind::StructValue(pb::Struct { fields: payload(map) }),
    };
    pb::Value { kind: Some(kind) }
}

fn raise(value: pb::Value) -> Value {
    match value.kind {
        None | Some(Kind::NullValue(_)) => Value::Null,
        Some(Kind::BoolValue(flag)) => Value::Bool(flag),
        Some(Kind::IntegerValue(number)) => Value::from(number),
        Some(Kind::DoubleValue(number)) => Number::from_f64(number).map_or(Value::Null, Value::Number),
        Some(Kind::StringValue(text)) => Value::String(text),
        Some(Kind::ListValue(list)) => Value::Array(list.values.into_iter().map(raise).collect()),
        Some(Kind::StructValue(map)) => Value::Object(payload_back(map.fields)),
    }
}

/// A vector to look for: as numbers, never as the id of a point that has it.
pub(super) fn input(vector: &Vector) -> pb::VectorInput {
    let variant = match vector {
        Vector::Dense(dense) => vector_input::Variant::Dense(dense_of(dense.values().to_vec())),
        Vector::Sparse(sparse) => vector_input::Variant::Sparse(sparse_of(sparse.clone())),
        Vector::Multi(multi) => vector_input::Variant::MultiDense(multi_of(multi.rows().to_vec())),
    };
    pb::VectorInput { variant: Some(variant) }
}

/// Vectors to store. One of a text without terms is left out: nothing is to find it.
pub(super) fn named(vectors: BTreeMap<VectorName, Vector>) -> pb::Vectors {
    let stored = vectors.into_iter().filter(|(_, vector)| !vector.is_empty());
    let vectors = stored.map(|(name, vector)| (name.as_str().to_owned(), stored_of(vector))).collect();
    pb::Vectors { vectors_options: Some(vectors::VectorsOptions::Vectors(pb::NamedVectors { vectors })) }
}

#[expect(deprecated, reason = "the old fields are there to be empty")]
fn stored_of(vector: Vector) -> pb::Vector {
    let vector = match vector {
        Vector::Dense(dense) => vector::Vector::Dense(dense_of(dense.into_values())),
        Vector::Sparse(sparse) => vector::Vector::Sparse(sparse_of(sparse)),
        Vector::Multi(multi) => vector::Vector::MultiDense(multi_of(multi.into_rows())),
    };
    pb::Vector { data: Vec::new(), indices: None, vectors_count: None, vector: Some(vector) }
}

/// The vectors of an answer. One that a point can't have is no answer of ours.
pub(super) fn named_back(vectors: Option<pb::VectorsOutput>) -> Result<BTreeMap<VectorName, Vector>, QdrantError> {
    let named = match vectors.and_then(|vectors| vectors.vectors_options) {
        None => return Ok(BTreeMap::new()),
        Some(vectors_output::VectorsOptions::Vectors(named)) => named.vectors,
        Some(vectors_output::VectorsOptions::Vector(_)) => return Err(QdrantError::Incomplete),
    };
    let vector = |(name, output): (String, pb::VectorOutput)| {
        let vector = match output.vector? {
            vector_output::Vector::Dense(dense) => DenseVector::new(dense.data).ok()?.into(),
            vector_output::Vector::Sparse(sparse) => sorted(sparse)?.into(),
            vector_output::Vector::MultiDense(multi) => {
                let rows = multi.vectors.into_iter().map(|row| row.data).collect();
                MultiVector::new(rows).ok()?.into()
            }
        };
        Some((VectorName::parse(&name).ok()?, vector))
    };
    named.into_iter().map(vector).collect::<Option<_>>().ok_or(QdrantError::Incomplete)
}

fn sorted(sparse: pb::SparseVector) -> Option<SparseVector> {
    let mut terms: Vec<_> = sparse.indices.into_iter().zip(sparse.values).collect();
    terms.sort_by_key(|(index, _)| *index);
    let (indices, values): (Vec<_>, Vec<_>) = terms.into_iter().unzip();
    if indices.is_empty() { Some(SparseVector::empty()) } else { SparseVector::new(indices, values).ok() }
}

const fn dense_of(data: Vec<f32>) -> pb::DenseVector {
    pb::DenseVector { data }
}

fn sparse_of(sparse: SparseVector) -> pb::SparseVector {
    let (indices, values) = sparse.into_parts();
    pb::SparseVector { values, indices }
}

fn multi_of(rows: Vec<Vec<f32>>) -> pb::MultiDenseVector {
    pb::MultiDenseVector { vectors: rows.into_iter().map(dense_of).collect() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_payload_comes_back_as_it_went() {
        let value = json!({
            "null": null, "flag": true, "whole": i64::MAX, "negative": i64::MIN, "fraction": 1.0, "small": 0.1,
            "text": "\u{e9}\u{0}", "list": [1, [2.5, null], {"a": []}], "nested": {"a.b": {"\"": false}},
        });
        let map = value.as_object().unwrap().clone();
        assert_eq!(Value::Object(payload_back(payload(map))), value);
    }
}
