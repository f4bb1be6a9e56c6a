//! A caller's conditions, each as one of the engine's.

use std::ops::Bound;
use std::time::{SystemTime, UNIX_EPOCH};

use qdrant_edge::external::ordered_float::OrderedFloat;
use qdrant_edge::{
    AnyVariants, Condition as EngineCondition, DateTimeWrapper, FieldCondition, Filter as EngineFilter, GeoBoundingBox,
    GeoPoint, GeoPolygon, GeoRadius, HasIdCondition, HasVectorCondition, IsEmptyCondition, IsNullCondition, Match,
    MatchPhrase, MatchText, MatchTextAny, MinShould, Nested, NestedCondition, PointId, Range as EngineRange,
    ValueVariants, ValuesCount,
};
use serde_json::json;
use tenancy_vector::{Area, BackendError, Condition, Filter, FilterValue, PayloadKey, Place, Range, Words};

use super::{engine_id, path};

/// One condition as one.
pub(super) fn condition(condition: &Condition) -> Result<EngineCondition, BackendError> {
    Ok(match condition {
        Filter::Equals(key, value) => equals(key, value)?,
        Filter::AnyOf(key, values) => any_of(key, values)?,
        Filter::Within(key, range) => field(FieldCondition::new_range(key_path(key)?, bounds(range, OrderedFloat))),
        Filter::During(key, range) => {
            let range = bounds(range, micros);
            let range =
                EngineRange { lt: time(range.lt)?, gt: time(range.gt)?, gte: time(range.gte)?, lte: time(range.lte)? };
            field(FieldCondition::new_datetime_range(key_path(key)?, range))
        }
        Filter::Words(key, words) => field(FieldCondition::new_match(
            key_path(key)?,
            match words {
                Words::All(text) => Match::Text(MatchText { text: text.clone() }),
                Words::Any(text) => Match::TextAny(MatchTextAny { text_any: text.clone() }),
                Words::Phrase(text) => Match::Phrase(MatchPhrase { phrase: text.clone() }),
            },
        )),
        Filter::Inside(key, area) => field(inside(key, area)?),
        Filter::Items(key, range) => {
            // More than fit into memory are more than there are.
            let EngineRange { lt, gt, gte, lte } = bounds(range, |count| usize::try_from(count).unwrap_or(usize::MAX));
            field(FieldCondition::new_values_count(key_path(key)?, ValuesCount { lt, gt, gte, lte }))
        }
        Filter::IsEmpty(key) => EngineCondition::IsEmpty(IsEmptyCondition::from(key_path(key)?)),
        Filter::IsNull(key) => EngineCondition::IsNull(IsNullCondition::from(key_path(key)?)),
        Filter::HasId(keys) => has_id(keys.iter().map(engine_id)),
        Filter::HasVector(name) => {
            EngineCondition::HasVector(HasVectorCondition { has_vector: name.as_str().to_owned() })
        }
        Filter::Nested(key, inner) => {
            let filter = all(vec![self::condition(inner)?]);
            EngineCondition::Nested(NestedCondition::new(Nested { key: key_path(key)?, filter }))
        }
        Filter::All(inner) => EngineCondition::Filter(all(conditions(inner)?)),
        Filter::Any(inner) => any(conditions(inner)?),
        Filter::AtLeast(least, inner) => EngineCondition::Filter(EngineFilter {
            should: None,
            min_should: Some(MinShould { conditions: conditions(inner)?, min_count: *least }),
            must: None,
            must_not: None,
        }),
        Filter::Not(inner) => EngineCondition::Filter(EngineFilter {
            should: None,
            min_should: None,
            must: None,
            must_not: Some(vec![self::condition(inner)?]),
        }),
    })
}

pub(super) fn has_id(ids: impl IntoIterator<Item = PointId>) -> EngineCondition {
    EngineCondition::HasId(ids.into_iter().collect::<HasIdCondition>())
}

pub(super) fn all(must: Vec<EngineCondition>) -> EngineFilter {
    EngineFilter { should: None, min_should: None, must: Some(must), must_not: None }
}

pub(super) fn place(place: &Place) -> GeoPoint {
    GeoPoint { lon: OrderedFloat(place.lon()), lat: OrderedFloat(place.lat()) }
}

fn any(should: Vec<EngineCondition>) -> EngineCondition {
    EngineCondition::Filter(EngineFilter { should: Some(should), min_should: None, must: None, must_not: None })
}

fn field(condition: FieldCondition) -> EngineCondition {
    EngineCondition::Field(condition)
}

fn key_path(key: &PayloadKey) -> Result<qdrant_edge::JsonPath, BackendError> {
    path(key.as_str())
}

/// The engine takes an empty list of conditions for one that holds.
fn conditions(inner: &[Condition]) -> Result<Vec<EngineCondition>, BackendError> {
    if inner.is_empty() {
        return Err(BackendError::because("a list of no conditions"));
    }
    inner.iter().map(condition).collect()
}

fn equals(key: &PayloadKey, value: &FilterValue) -> Result<EngineCondition, BackendError> {
    let value = match value {
        FilterValue::Text(text) => ValueVariants::String(text.clone()),
        FilterValue::Integer(number) => ValueVariants::Integer(*number),
        FilterValue::Flag(flag) => ValueVariants::Bool(*flag),
    };
    Ok(field(FieldCondition::new_match(key_path(key)?, Match::new_value(value))))
}

/// The engine's lists hold one kind of value each, and none holds truth values.
fn any_of(key: &PayloadKey, values: &[FilterValue]) -> Result<EngineCondition, BackendError> {
    let (mut texts, mut numbers, mut conditions) = (Vec::new(), Vec::new(), Vec::new());
    for value in values {
        match value {
            FilterValue::Text(text) => texts.push(text.clone()),
            FilterValue::Integer(number) => numbers.push(*number),
            FilterValue::Flag(_) => conditions.push(equals(key, value)?),
        }
    }
    let lists = [
        (!texts.is_empty()).then(|| AnyVariants::Strings(texts.into_iter().collect())),
        (!numbers.is_empty()).then(|| AnyVariants::Integers(numbers.into_iter().collect())),
    ];
    for list in lists.into_iter().flatten() {
        conditions.push(field(FieldCondition::new_match(key_path(key)?, Match::new_any(list))));
    }
    if conditions.is_empty() {
        // The engine takes an empty list of alternatives for everything.
        return Err(BackendError::because("a list of no values"));
    }
    Ok(any(conditions))
}

fn bounds<T: Copy + PartialOrd, U>(range: &Range<T>, value: impl Fn(T) -> U) -> EngineRange<U> {
    let mut bounds = EngineRange { lt: None, gt: None, gte: None, lte: None };
    match range.lower() {
        Bound::Included(lower) => bounds.gte = Some(value(lower)),
        Bound::Excluded(lower) => bounds.gt = Some(value(lower)),
        Bound::Unbounded => {}
    }
    match range.upper() {
        Bound::Included(upper) => bounds.lte = Some(value(upper)),
        Bound::Excluded(upper) => bounds.lt = Some(value(upper)),
        Bound::Unbounded => {}
    }
    bounds
}

/// Microseconds since 1970, in which the engine counts.
pub(super) fn micros(time: SystemTime) -> Option<i64> {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).ok(),
        // Rounded down as well: a moment before a microsecond is not in it.
        Err(before) => {
            let nanos = i64::try_from(before.duration().as_nanos().div_ceil(1000)).ok()?;
            Some(-nanos)
        }
    }
}

/// A point in time that the engine can name, which reaches 260,000 years either way.
pub(super) fn engine_time(micros: Option<i64>) -> Result<DateTimeWrapper, BackendError> {
    let time = micros.and_then(DateTimeWrapper::from_timestamp);
    time.ok_or_else(|| BackendError::because("a point in time that the engine does not take"))
}

fn time(bound: Option<Option<i64>>) -> Result<Option<DateTimeWrapper>, BackendError> {
    bound.map(engine_time).transpose()
}

fn inside(key: &PayloadKey, area: &Area) -> Result<FieldCondition, BackendError> {
    let key = key_path(key)?;
    Ok(match area {
        Area::Circle { center, radius } => {
            FieldCondition::new_geo_radius(key, GeoRadius { center: place(center), radius: OrderedFloat(*radius) })
        }
        Area::Box { north_west, south_east } => FieldCondition::new_geo_bounding_box(
            key,
            GeoBoundingBox { top_left: place(north_west), bottom_right: place(south_east) },
        ),
        Area::Polygon(line) => {
            // The engine keeps the type of a line to itself.
            let points: Vec<_> = line.iter().map(|at| json!({"lon": at.lon(), "lat": at.lat()})).collect();
            let polygon = json!({"exterior": {"points": points}});
            let polygon: GeoPolygon = serde_json::from_value(polygon).map_err(BackendError::failed)?;
            FieldCondition::new_geo_polygon(key, polygon)
        }
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_list_of_nothing_reaches_the_engine() {
        let key = PayloadKey::parse("owner").unwrap();
        for nothing in [
            Filter::AnyOf(key, vec![]),
            Filter::All(vec![]),
            Filter::Any(vec![]),
            Filter::AtLeast(1, vec![]),
            Filter::Not(Box::new(Filter::All(vec![]))),
        ] {
            assert!(condition(&nothing).is_err(), "{nothing:?}");
        }
    }

    #[test]
    fn points_in_time_are_counted_in_microseconds_rounded_down() {
        let at = |nanos: u64| UNIX_EPOCH + Duration::from_nanos(nanos);
        let before = |nanos: u64| UNIX_EPOCH - Duration::from_nanos(nanos);
        assert_eq!([at(0), at(1999), at(2000)].map(micros), [Some(0), Some(1), Some(2)]);
        assert_eq!([before(1), before(1000), before(1001)].map(micros), [Some(-1), Some(-1), Some(-2)]);
    }
}
