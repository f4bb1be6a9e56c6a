//! What of an answer is compared and shown.

use std::collections::BTreeSet;

use serde_json::Value;
use tenancy_vector::{ExternalId, FoundPoint, Hit, Order, OrderFrom, PayloadKey, Vector};

pub(super) fn near(one: f32, two: f32) -> bool {
    (one - two).abs() <= 1e-4 * one.abs().max(1.0)
}

pub(super) fn ids(hits: &[Hit]) -> BTreeSet<ExternalId> {
    hits.iter().map(|hit| hit.id().clone()).collect()
}

/// Everything about hits, to the bit.
pub(super) fn bits(hits: &[Hit]) -> Vec<(u32, String)> {
    hits.iter().map(|hit| (hit.score().to_bits(), point_bits(hit.point()))).collect()
}

pub(super) fn point_bits(point: &FoundPoint) -> String {
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let vectors = point.vectors().iter().map(|(name, vector)| match vector {
        Vector::Dense(dense) => format!("{name:?} {:?}", bits(dense.values())),
        Vector::Sparse(sparse) => format!("{name:?} {:?} {:?}", sparse.indices(), bits(sparse.values())),
        Vector::Multi(multi) => format!("{name:?} {:?}", multi.rows().iter().map(|row| bits(row)).collect::<Vec<_>>()),
    });
    let vectors: Vec<_> = vectors.collect();
    format!("{} {} {vectors:?}", point.id().as_str(), sorted(&Value::Object(point.payload().clone())))
}

pub(super) fn shown(hits: &[Hit]) -> String {
    hits.iter().map(|hit| format!("{} {}", hit.id().as_str(), hit.score())).collect::<Vec<_>>().join(", ")
}

/// Where a point stands in an order: at the first of its values.
pub(super) fn place(order: &Order, point: &FoundPoint) -> Option<i64> {
    let sign = if order.is_descending() { -1.0 } else { 1.0 };
    let from = order.from().map_or(f64::NEG_INFINITY, |from| match from {
        OrderFrom::Integer(number) => sign * f64::from(i32::try_from(number).unwrap()),
        OrderFrom::Float(number) => sign * number,
        OrderFrom::Datetime(_) => f64::NEG_INFINITY,
    });
    let values = numbers(order.key(), point).into_iter().map(|value| sign * value).filter(|value| *value >= from);
    let first = values.min_by(f64::total_cmp)?;
    // In steps of which every value is a multiple.
    #[expect(clippy::cast_possible_truncation, reason = "values are small")]
    let place = (first * 32_768.0).round() as i64;
    Some(place)
}

fn numbers(path: &PayloadKey, point: &FoundPoint) -> Vec<f64> {
    let mut steps = path.as_str().split('.');
    let first = steps.next().and_then(|step| point.payload().get(step));
    match steps.fold(first, |at, step| at.and_then(|value| value.get(step))) {
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_f64).collect(),
        Some(value) => value.as_f64().into_iter().collect(),
        None => Vec::new(),
    }
}

/// With the keys of objects in order: a server hands them out in any.
pub(super) fn sorted(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map.iter().map(|(key, value)| format!("{key:?}:{}", sorted(value))).collect();
            keys.sort();
            format!("{{{}}}", keys.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(sorted).collect::<Vec<_>>().join(",")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}
