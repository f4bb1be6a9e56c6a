//! Points to check with, the same on every run.

use serde_json::{Map, Value, json};

use crate::error::VectorError;
use crate::filter::Filter;
use crate::id::ExternalId;
use crate::payload::PayloadKey;
use crate::point::Point;
use crate::query::VectorQuery;
use crate::vector::SparseVector;

pub(super) const DIMENSION: usize = 8;

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
    fn value(&mut self) -> f32 {
        f32::from(self.next()) / 32_768.0 - 1.0
    }

    pub(super) fn dense(&mut self) -> Vec<f32> {
        (0..DIMENSION).map(|_| self.value()).collect()
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

/// A point whose payload says which one it is.
pub(super) fn point(text: &str, numbers: &mut Numbers) -> Result<Point, VectorError> {
    Point::hybrid(id(text)?, numbers.dense(), numbers.sparse()?, object(json!({ "name": text })))
}

/// Forty points with payloads of many shapes, no two of them alike.
pub(super) fn points(numbers: &mut Numbers) -> Result<Vec<Point>, VectorError> {
    let point = |n| Point::hybrid(id(&format!("point:{n}"))?, numbers.dense(), numbers.sparse()?, shape(n));
    (0..40).map(point).collect()
}

/// Two points with equal vectors: they tie.
pub(super) fn twins(numbers: &mut Numbers) -> Result<Vec<Point>, VectorError> {
    let (dense, terms) = (numbers.dense(), SparseVector::new(vec![3], vec![1.0])?);
    let twin = |name| Point::hybrid(id(name)?, dense.clone(), terms.clone(), Map::new());
    ["twin:2", "twin:1"].into_iter().map(twin).collect()
}

/// Queries of each kind, with and without each filter.
pub(super) fn queries(numbers: &mut Numbers) -> Result<Vec<VectorQuery>, VectorError> {
    let mut queries = Vec::new();
    for filter in std::iter::once(None).chain(filters()?.into_iter().map(Some)) {
        for limit in [1, 7, 100] {
            let sparse = SparseVector::new(vec![1, 5, 9, 200], vec![1.0, 0.5, numbers.value().abs() + 0.1, 3.0])?;
            for query in [
                VectorQuery::dense(numbers.dense())?,
                VectorQuery::sparse(sparse.clone())?,
                VectorQuery::hybrid(numbers.dense(), sparse)?,
            ] {
                let query = query.limit(limit)?;
                queries.push(match filter.clone() {
                    Some(filter) => query.filter(filter)?,
                    None => query,
                });
            }
        }
    }
    Ok(queries)
}

fn filters() -> Result<Vec<Filter>, VectorError> {
    let key = PayloadKey::parse;
    let not = |filter| Filter::Not(Box::new(filter));
    let even = Filter::Equals(key("even")?, true.into());
    let tags = Filter::AnyOf(key("nested.tags")?, vec!["t1".into(), "t2".into(), 3.into(), false.into()]);
    Ok(vec![
        even.clone(),
        not(even.clone()),
        Filter::Equals(key("n")?, 7.into()),
        Filter::Equals(key("n")?, "7".into()),
        Filter::Equals(key("missing")?, 7.into()),
        not(Filter::Equals(key("missing")?, 7.into())),
        tags.clone(),
        not(tags.clone()),
        Filter::All(vec![even.clone(), tags.clone()]),
        not(Filter::All(vec![even.clone(), tags.clone()])),
        Filter::All(vec![not(even), not(not(tags))]),
        Filter::AnyOf(key("mixed")?, vec!["x".into(), 1.into(), true.into()]),
        Filter::Equals(key("a_tenancy.life")?, "x".into()),
    ])
}

fn shape(n: i64) -> Map<String, Value> {
    let mixed = match n % 5 {
        0 => json!("x"),
        1 => json!(1),
        2 => json!(1.0),
        3 => json!(null),
        _ => json!([true, {"x": 1}]),
    };
    let mut payload = object(json!({
        "n": n,
        "even": n % 2 == 0,
        "nested": {"tags": [format!("t{}", n % 4), n % 6, n % 7 == 0], "n": {"n": n}},
        "mixed": mixed,
        "a_tenancy": {"life": "x"},
    }));
    if n % 3 == 0 {
        payload.remove("nested");
    }
    payload
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}
