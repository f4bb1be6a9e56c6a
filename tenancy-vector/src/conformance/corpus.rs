//! Points to check with, the same on every run.

use serde_json::{Map, Value, json};

use crate::error::VectorError;
use crate::id::ExternalId;
use crate::name::VectorName;
use crate::payload::PayloadKey;
use crate::point::Point;
use crate::schema::{Distance, IndexKind, Schema, VectorKind};
use crate::text::TextOptions;
use crate::vector::{DenseVector, MultiVector, SparseVector};

pub(super) const DIMENSION: usize = 8;
pub(super) const SMALL: usize = 3;

/// The schema of the points that the checks write: a vector and an index of each kind.
///
/// # Errors
/// None: it is one that can be.
pub fn schema() -> Result<Schema, VectorError> {
    let schema = Schema::hybrid(DIMENSION)?
        .with(name("dot")?, VectorKind::Dense { dimension: SMALL, distance: Distance::Dot })?
        .with(name("late")?, VectorKind::Multi { dimension: SMALL, distance: Distance::Cosine })?
        .with(name("body")?, VectorKind::Text(TextOptions::new()))?;
    let indexes = [
        ("label", IndexKind::Keyword),
        ("rank", IndexKind::Integer),
        ("weight", IndexKind::Float),
        ("open", IndexKind::Flag),
        ("since", IndexKind::Datetime),
        ("place", IndexKind::Geo),
        ("title", IndexKind::Words),
    ];
    indexes.into_iter().try_fold(schema, |schema, (path, kind)| Ok(schema.index(key(path)?, kind)))
}

/// Numbers without a pattern, from a linear congruence (Knuth's MMIX constants).
pub(super) struct Numbers(u64);

impl Numbers {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u16 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // The high bits have the long periods; 16 of them always fit.
        u16::try_from(self.0 >> 48).unwrap_or_default()
    }

    /// Between -1 and 1, never the same twice in practice, so that scores do not tie by chance.
    pub(super) fn value(&mut self) -> f32 {
        f32::from(self.next()) / 32_768.0 - 1.0
    }

    pub(super) fn dense(&mut self) -> Vec<f32> {
        (0..DIMENSION).map(|_| self.value()).collect()
    }

    /// Of the vector `dot`, or a row of `late`.
    pub(super) fn small(&mut self) -> Vec<f32> {
        (0..SMALL).map(|_| self.value()).collect()
    }

    pub(super) fn late(&mut self, rows: i64) -> Result<MultiVector, VectorError> {
        MultiVector::new((0..rows).map(|_| self.small()).collect())
    }

    pub(super) fn sparse(&mut self) -> Result<SparseVector, VectorError> {
        let indices: Vec<u32> = (0..24).filter(|_| self.next().is_multiple_of(4)).collect();
        if indices.is_empty() {
            return Ok(SparseVector::empty());
        }
        let values = indices.iter().map(|_| self.value().abs() + 0.01).collect();
        SparseVector::new(indices, values)
    }
}

pub(super) fn id(text: &str) -> Result<ExternalId, VectorError> {
    ExternalId::parse(text)
}

pub(super) fn name(text: &str) -> Result<VectorName, VectorError> {
    VectorName::parse(text)
}

pub(super) fn key(path: &str) -> Result<PayloadKey, VectorError> {
    PayloadKey::parse(path)
}

/// A point whose payload says which one it is.
pub(super) fn point(text: &str, numbers: &mut Numbers) -> Result<Point, VectorError> {
    Point::hybrid(id(text)?, numbers.dense(), numbers.sparse()?, object(json!({ "name": text })))
}

/// Forty points with payloads of many shapes, no two of them alike, most with all vectors.
pub(super) fn points(numbers: &mut Numbers) -> Result<Vec<Point>, VectorError> {
    (0..40).map(|n| numbered(n, numbers)).collect()
}

/// One of them, or one more.
pub(super) fn numbered(n: i64, numbers: &mut Numbers) -> Result<Point, VectorError> {
    let mut point = Point::hybrid(id(&format!("point:{n}"))?, numbers.dense(), numbers.sparse()?, shape(n))?;
    if n % 6 != 1 {
        point = point.with(name("dot")?, DenseVector::new(numbers.small())?);
    }
    if n % 10 != 7 {
        point = point.with(name("late")?, numbers.late(1 + n % 3)?);
    }
    if n % 9 != 8 {
        point = point.with(name("body")?, words(n * 5 + 2));
    }
    Ok(point)
}

/// Two points with equal vectors: they tie.
pub(super) fn twins(numbers: &mut Numbers) -> Result<Vec<Point>, VectorError> {
    let (dense, terms) = (numbers.dense(), SparseVector::new(vec![3], vec![1.0])?);
    let twin = |name| Point::hybrid(id(name)?, dense.clone(), terms.clone(), Map::new());
    ["twin:2", "twin:1"].into_iter().map(twin).collect()
}

fn shape(n: i64) -> Map<String, Value> {
    let mixed = match n % 5 {
        0 => json!("x"),
        1 => json!(1),
        2 => json!(1.0),
        3 => json!(null),
        _ => json!([true, {"x": 1}]),
    };
    let parts: Vec<_> = (0..n % 4).map(|part| json!({"n": (n + part) % 3, "tag": format!("t{part}")})).collect();
    let mut payload = object(json!({
        "n": n,
        "even": n % 2 == 0,
        "nested": {"tags": [format!("t{}", n % 4), n % 6, n % 7 == 0], "n": {"n": n}},
        "mixed": mixed,
        "a_tenancy": {"life": "x"},
        "parts": parts,
        // What is indexed is of one kind, where it is there. No two have the same place in an order.
        "label": (["red", "green", "blue", "Red", ""][usize::try_from(n % 5).unwrap_or_default()]),
        "rank": n * 37 % 40 - 15,
        "weight": f64::from(u8::try_from(n * 23 % 40).unwrap_or_default()) * 0.75 - 7.0,
        "open": n % 3 == 0,
        "since": format!("2026-{:02}-{:02}T06:00:00Z", 1 + n % 12, 1 + n / 12),
        "place": {"lon": n * 13 % 120 - 60, "lat": n * 29 % 90 - 40},
        "title": words(n),
    }));
    for (path, every, from) in
        [("nested", 3, 0), ("label", 7, 3), ("open", 11, 4), ("since", 8, 5), ("place", 9, 2), ("title", 10, 6)]
    {
        if n % every == from {
            payload.remove(path);
        }
    }
    payload
}

/// Some words in a row.
fn words(n: i64) -> String {
    let word = |at: i64| WORDS[usize::try_from((n + at * at) % 7).unwrap_or_default()];
    (0..1 + n % 4).map(word).collect::<Vec<_>>().join(" ")
}

pub(super) const WORDS: [&str; 7] = ["fence", "tenant", "vector", "search", "life", "scope", "realm"];

pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}
