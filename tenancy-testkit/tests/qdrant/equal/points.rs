//! The points, for both sides.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use qdrant_client::qdrant as pb;
use qdrant_edge::{
    Distance, EdgeConfigBuilder, EdgeShard, EdgeSparseVectorParamsBuilder, EdgeVectorParamsBuilder,
    FieldIndexOperations, Modifier, MultiVectorComparator, MultiVectorConfig, PointId, PointInsertOperations,
    PointOperations, PointStruct, UpdateOperation, Vector, Vectors, WalOptions,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::dice::Dice;
use crate::House;

/// How many there are at first.
pub(crate) const COUNT: u64 = 120;

/// How many terms sparse vectors use.
pub(crate) const TERMS: u32 = 12;

/// The keys with an index, and of what type.
const INDEXES: &[(&str, pb::FieldType, &str)] = &[
    ("tenant", pb::FieldType::Keyword, "keyword"),
    ("n", pb::FieldType::Integer, "integer"),
    ("f", pb::FieldType::Float, "float"),
    ("t", pb::FieldType::Datetime, "datetime"),
    ("flag", pb::FieldType::Bool, "bool"),
    ("place", pb::FieldType::Geo, "geo"),
];

/// A server and a shard of the engine with the same points.
pub(crate) struct Twins {
    pub(crate) house: House,
    pub(crate) engine: EdgeShard,
    /// Where the engine has its files.
    _directory: TempDir,
}

impl Twins {
    pub(crate) async fn new(dice: &mut Dice) -> Self {
        let mut house = House::empty().await;
        house.collections.create(collection()).await.unwrap();
        let directory = TempDir::new().unwrap();
        let engine = EdgeShard::new(directory.path(), config()).unwrap();
        for (key, field_type, name) in INDEXES {
            let index = pb::CreateFieldIndexCollection {
                field_name: (*key).into(),
                field_type: Some((*field_type).into()),
                collection_name: "c".into(),
                ..Default::default()
            };
            house.points.create_field_index(index).await.unwrap();
            engine.update(indexed(key, json!(name))).unwrap();
        }
        let text = pb::TextIndexParams {
            tokenizer: pb::TokenizerType::Word.into(),
            lowercase: Some(true),
            phrase_matching: Some(true),
            ..Default::default()
        };
        let index = pb::CreateFieldIndexCollection {
            field_name: "text".into(),
            field_index_params: Some(pb::PayloadIndexParams {
                index_params: Some(pb::payload_index_params::IndexParams::TextIndexParams(text)),
            }),
            collection_name: "c".into(),
            ..Default::default()
        };
        house.points.create_field_index(index).await.unwrap();
        let text = json!({"type": "text", "tokenizer": "word", "lowercase": true, "phrase_matching": true});
        engine.update(indexed("text", text)).unwrap();
        let mut twins = Self { house, engine, _directory: directory };
        // One by one: the engine numbers the terms of a batch in an order by chance, and adds weights up by number.
        for number in 0..COUNT {
            let row = Row::random(id(number), dice);
            twins.house.upsert(vec![row.wire()], None).await;
            twins.engine.update(inserted(vec![row.engine()])).unwrap();
        }
        twins
    }
}

/// A point before it is anybody's.
#[derive(Clone)]
pub(crate) struct Row {
    pub(crate) id: PointId,
    payload: Value,
    dense: Option<Vec<f32>>,
    euclid: Vec<f32>,
    sparse: (Vec<u32>, Vec<f32>),
    rows: Vec<Vec<f32>>,
}

impl Row {
    pub(crate) fn random(id: PointId, dice: &mut Dice) -> Self {
        let dense = (!dice.once_in(8)).then(|| dice.floats(4));
        let rows = dice.below(3) + 1;
        Self {
            id,
            payload: payload(dice),
            dense,
            euclid: dice.floats(3),
            sparse: dice.terms(TERMS),
            rows: (0..rows).map(|_| dice.floats(2)).collect(),
        }
    }

    pub(crate) fn wire(&self) -> pb::PointStruct {
        let Value::Object(fields) = &self.payload else { unreachable!() };
        pb::PointStruct {
            id: Some(wire_id(self.id)),
            payload: fields.iter().map(|(key, value)| (key.clone(), wire(value))).collect(),
            vectors: Some(self.wire_vectors()),
        }
    }

    pub(crate) fn wire_vectors(&self) -> pb::Vectors {
        use pb::vector::Vector as Kind;
        let dense = |data: &Vec<f32>| pb::DenseVector { data: data.clone() };
        let (indices, values) = self.sparse.clone();
        let rows = pb::MultiDenseVector { vectors: self.rows.iter().map(dense).collect() };
        let mut vectors = HashMap::from([
            ("e", Kind::Dense(dense(&self.euclid))),
            ("s", Kind::Sparse(pb::SparseVector { values, indices })),
            ("m", Kind::MultiDense(rows)),
        ]);
        vectors.extend(self.dense.as_ref().map(|data| ("d", Kind::Dense(dense(data)))));
        let named =
            |(name, kind): (&str, _)| (name.to_owned(), pb::Vector { vector: Some(kind), ..Default::default() });
        let named = pb::NamedVectors { vectors: vectors.into_iter().map(named).collect() };
        pb::Vectors { vectors_options: Some(pb::vectors::VectorsOptions::Vectors(named)) }
    }

    pub(crate) fn engine(&self) -> PointStruct {
        let (indices, values) = self.sparse.clone();
        let mut vectors = vec![
            ("e", Vector::new_dense(self.euclid.clone())),
            ("s", Vector::new_sparse(indices, values).unwrap()),
            ("m", Vector::new_multi(self.rows.clone()).unwrap()),
        ];
        vectors.extend(self.dense.clone().map(|data| ("d", Vector::new_dense(data))));
        PointStruct::new(self.id, Vectors::new_named(vectors), self.payload.clone())
    }
}

pub(crate) fn inserted(points: Vec<PointStruct>) -> UpdateOperation {
    let points = points.into_iter().map(Into::into).collect();
    UpdateOperation::PointOperation(PointOperations::UpsertPoints(PointInsertOperations::PointsList(points)))
}

/// Half of the ids are numbers.
pub(crate) fn id(number: u64) -> PointId {
    if number.is_multiple_of(2) {
        PointId::NumId(number)
    } else {
        PointId::Uuid(qdrant_edge::external::uuid::Uuid::from_u128(u128::from(number) << 64 | 7))
    }
}

pub(crate) fn wire_id(id: PointId) -> pb::PointId {
    match id {
        PointId::NumId(number) => number.into(),
        PointId::Uuid(uuid) => uuid.to_string().into(),
    }
}

pub(crate) fn wire(value: &Value) -> pb::Value {
    use pb::value::Kind;
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(flag) => Kind::BoolValue(*flag),
        Value::Number(number) if number.is_i64() => Kind::IntegerValue(number.as_i64().unwrap()),
        Value::Number(number) => Kind::DoubleValue(number.as_f64().unwrap()),
        Value::String(text) => Kind::StringValue(text.clone()),
        Value::Array(list) => Kind::ListValue(pb::ListValue { values: list.iter().map(wire).collect() }),
        Value::Object(fields) => Kind::StructValue(pb::Struct {
            fields: fields.iter().map(|(key, value)| (key.clone(), wire(value))).collect(),
        }),
    };
    pb::Value { kind: Some(kind) }
}

/// Keys are missing, null, lists and of several types, now and then.
pub(crate) fn payload(dice: &mut Dice) -> Value {
    let mut fields = json!({
        "tenant": dice.pick(&["a", "b", "c"]),
        "n": dice.below(1000) as i64 - 500,
        "f": f64::from(dice.float()),
        "flag": dice.once_in(2),
        "t": format!("2026-0{}-1{}T0{}:00:00Z", dice.below(9) + 1, dice.below(10), dice.below(10)),
        "place": {"lon": f64::from(dice.float()) * 20.0, "lat": f64::from(dice.float()) * 20.0},
        "tags": (0..dice.below(4)).map(|_| dice.pick(&["red", "green", "blue"])).collect::<Vec<_>>(),
        "text": format!("{} {} {}", dice.pick(WORDS), dice.pick(WORDS), dice.pick(WORDS)),
        "items": (0..dice.below(3)).map(|_| json!({"k": dice.pick(&["x", "y"]), "v": dice.below(5)})).collect::<Vec<_>>(),
        "mixed": dice.pick(&[0, 1]),
    });
    let all = fields.as_object_mut().unwrap();
    for key in ["n", "f", "tags", "place", "items", "mixed"] {
        match dice.below(10) {
            0 => drop(all.remove(key)),
            1 => drop(all.insert(key.to_owned(), Value::Null)),
            _ => {}
        }
    }
    fields
}

pub(crate) const WORDS: &[&str] = &["quick", "brown", "fox", "jumps", "over", "lazy", "dogs"];

fn indexed(key: &str, schema: Value) -> UpdateOperation {
    UpdateOperation::FieldIndexOperation(FieldIndexOperations::CreateIndex(qdrant_edge::CreateIndex {
        field_name: key.parse().unwrap(),
        field_schema: Some(serde_json::from_value(schema).unwrap()),
    }))
}

fn collection() -> pb::CreateCollection {
    use pb::Distance::{Cosine, Dot, Euclid};
    let dense =
        |size, distance: pb::Distance| pb::VectorParams { size, distance: distance.into(), ..Default::default() };
    let rows = pb::MultiVectorConfig { comparator: pb::MultiVectorComparator::MaxSim.into() };
    let map = HashMap::from([
        ("d".into(), dense(4, Cosine)),
        ("e".into(), dense(3, Euclid)),
        ("m".into(), pb::VectorParams { multivector_config: Some(rows), ..dense(2, Dot) }),
    ]);
    let config = pb::vectors_config::Config::ParamsMap(pb::VectorParamsMap { map });
    pb::CreateCollection { vectors_config: Some(pb::VectorsConfig { config: Some(config) }), ..crate::collection() }
}

/// With the engine's own weights of terms, unlike the server's.
fn config() -> qdrant_edge::EdgeConfig {
    let rows = MultiVectorConfig { comparator: MultiVectorComparator::MaxSim };
    EdgeConfigBuilder::new()
        .vector("d", EdgeVectorParamsBuilder::new(4, Distance::Cosine).build())
        .vector("e", EdgeVectorParamsBuilder::new(3, Distance::Euclid).build())
        .vector("m", EdgeVectorParamsBuilder::new(2, Distance::Dot).multivector_config(rows).build())
        .sparse_vector("s", EdgeSparseVectorParamsBuilder::new().modifier(Modifier::Idf).build())
        .wal_options(WalOptions { segment_capacity: 1 << 20, segment_queue_len: 0, retain_closed: NonZeroUsize::MIN })
        .build()
}
