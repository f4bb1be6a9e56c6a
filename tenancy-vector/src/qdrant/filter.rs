//! Conditions, and the one on the life beside them.

use std::ops::Bound;
use std::time::{SystemTime, UNIX_EPOCH};

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::condition::ConditionOneOf;
use qdrant_client::qdrant::r#match::MatchValue;
use qdrant_client::qdrant::points_selector::PointsSelectorOneOf;

use super::layout::Place;
use super::value;
use crate::filter::{Area, Condition, Filter, FilterValue, Place as Spot, Range, Words};
use crate::id::PointKey;
use crate::payload::PayloadKey;
use crate::request::Selector;
use crate::reserved;

impl Place {
    /// The life, and beside it all of these as one condition. The life stands in `must` and nowhere else: servers merge
    /// the lists of nested requests, and a tenant in a `should` is then one of several ways in (qdrant#10594).
    pub(super) fn filter(&self, conditions: &[&Condition]) -> pb::Filter {
        let mut must = vec![equals(reserved::LIFE_PATH, &self.life)];
        if !conditions.is_empty() {
            must.push(nested(all(conditions.iter().map(|condition| lower(condition)).collect())));
        }
        all(must)
    }

    /// Which points a write is for: a filter in each case. A list of ids reaches whatever has them.
    pub(super) fn selector(&self, selector: &Selector) -> pb::PointsSelector {
        let filter = match selector {
            Selector::Keys(keys) => self.filter(&[&Filter::HasId(keys.clone())]),
            Selector::Matching(condition) => self.filter(&condition.iter().collect::<Vec<_>>()),
        };
        pb::PointsSelector { points_selector_one_of: Some(PointsSelectorOneOf::Filter(filter)) }
    }

    /// Over which points terms are counted: the life's.
    pub(super) fn corpus(&self) -> pb::IdfParams {
        pb::IdfParams { corpus: Some(self.filter(&[])) }
    }
}

/// One condition for one condition.
pub(super) fn lower(condition: &Condition) -> pb::Condition {
    match condition {
        Filter::Equals(key, wanted) => equal(key, wanted),
        Filter::AnyOf(key, wanted) => any_of(key, wanted),
        Filter::Within(key, range) => {
            let (gt, gte, lt, lte) = bounds(range, |number| number);
            field(key, |field| field.range = Some(pb::Range { gt, gte, lt, lte }))
        }
        Filter::During(key, range) => {
            let (gt, gte, lt, lte) = bounds(range, timestamp);
            field(key, |field| field.datetime_range = Some(pb::DatetimeRange { gt, gte, lt, lte }))
        }
        Filter::Words(key, words) => {
            let text = words.text().to_owned();
            let wanted = match words {
                Words::All(_) => MatchValue::Text(text),
                Words::Any(_) => MatchValue::TextAny(text),
                Words::Phrase(_) => MatchValue::Phrase(text),
            };
            matches(key.as_str(), wanted)
        }
        Filter::Inside(key, area) => field(key, |field| inside(field, area)),
        Filter::Items(key, range) => {
            let (gt, gte, lt, lte) = bounds(range, |number| number);
            field(key, |field| field.values_count = Some(pb::ValuesCount { gt, gte, lt, lte }))
        }
        Filter::IsEmpty(key) => one(ConditionOneOf::IsEmpty(pb::IsEmptyCondition { key: key.as_str().to_owned() })),
        // As a condition on a field: the other form is answered differently where there is no index.
        Filter::IsNull(key) => field(key, |field| field.is_null = Some(true)),
        Filter::HasId(keys) => has_id(keys),
        Filter::HasVector(name) => {
            one(ConditionOneOf::HasVector(pb::HasVectorCondition { has_vector: name.as_str().to_owned() }))
        }
        Filter::Nested(key, filter) => one(ConditionOneOf::Nested(pb::NestedCondition {
            key: key.as_str().to_owned(),
            filter: Some(all(vec![lower(filter)])),
        })),
        Filter::All(filters) => nested(all(filters.iter().map(lower).collect())),
        Filter::Any(filters) => nested(any(filters.iter().map(lower).collect())),
        Filter::AtLeast(least, filters) => nested(pb::Filter {
            min_should: Some(pb::MinShould {
                conditions: filters.iter().map(lower).collect(),
                min_count: *least as u64,
            }),
            ..pb::Filter::default()
        }),
        Filter::Not(filter) => nested(pb::Filter { must_not: vec![lower(filter)], ..pb::Filter::default() }),
    }
}

/// Points by their engine ids and their digests: an engine id is half a key, and another point may have it.
fn has_id(keys: &[PointKey]) -> pb::Condition {
    let ids = keys.iter().map(value::engine_id).collect();
    let digests = pb::RepeatedStrings { strings: keys.iter().map(PointKey::digest).collect() };
    nested(all(vec![
        one(ConditionOneOf::HasId(pb::HasIdCondition { has_id: ids })),
        matches(&digest_path(), MatchValue::Keywords(digests)),
    ]))
}

pub(super) fn digest_path() -> String {
    format!("{}.{}", reserved::KEY, reserved::DIGEST)
}

fn equal(key: &PayloadKey, wanted: &FilterValue) -> pb::Condition {
    let wanted = match wanted {
        FilterValue::Text(text) => MatchValue::Keyword(text.clone()),
        FilterValue::Integer(number) => MatchValue::Integer(*number),
        FilterValue::Flag(flag) => MatchValue::Boolean(*flag),
    };
    matches(key.as_str(), wanted)
}

/// A list of one type is one condition; the server has none for a list of several.
fn any_of(key: &PayloadKey, wanted: &[FilterValue]) -> pb::Condition {
    let (mut strings, mut integers, mut ways) = (Vec::new(), Vec::new(), Vec::new());
    for value in wanted {
        match value {
            FilterValue::Text(text) => strings.push(text.clone()),
            FilterValue::Integer(number) => integers.push(*number),
            FilterValue::Flag(_) => ways.push(equal(key, value)),
        }
    }
    if !strings.is_empty() {
        ways.push(matches(key.as_str(), MatchValue::Keywords(pb::RepeatedStrings { strings })));
    }
    if !integers.is_empty() {
        ways.push(matches(key.as_str(), MatchValue::Integers(pb::RepeatedIntegers { integers })));
    }
    nested(any(ways))
}

fn inside(field: &mut pb::FieldCondition, area: &Area) {
    match area {
        Area::Circle { center, radius } => {
            #[expect(clippy::cast_possible_truncation, reason = "the server's radius is an f32")]
            let radius = *radius as f32;
            field.geo_radius = Some(pb::GeoRadius { center: Some(spot(*center)), radius });
        }
        Area::Box { north_west, south_east } => {
            let (top_left, bottom_right) = (Some(spot(*north_west)), Some(spot(*south_east)));
            field.geo_bounding_box = Some(pb::GeoBoundingBox { top_left, bottom_right });
        }
        Area::Polygon(line) => {
            let exterior = pb::GeoLineString { points: line.iter().map(|place| spot(*place)).collect() };
            field.geo_polygon = Some(pb::GeoPolygon { exterior: Some(exterior), interiors: Vec::new() });
        }
    }
}

pub(super) const fn spot(place: Spot) -> pb::GeoPoint {
    pb::GeoPoint { lon: place.lon(), lat: place.lat() }
}

type Bounds<T> = (Option<T>, Option<T>, Option<T>, Option<T>);

/// Above, from, below and up to.
fn bounds<T: Copy + PartialOrd, U>(range: &Range<T>, of: impl Fn(T) -> U) -> Bounds<U> {
    let (gt, gte) = match range.lower() {
        Bound::Excluded(value) => (Some(of(value)), None),
        Bound::Included(value) => (None, Some(of(value))),
        Bound::Unbounded => (None, None),
    };
    let (lt, lte) = match range.upper() {
        Bound::Excluded(value) => (Some(of(value)), None),
        Bound::Included(value) => (None, Some(of(value))),
        Bound::Unbounded => (None, None),
    };
    (gt, gte, lt, lte)
}

/// Seconds and the nanoseconds after them, before 1970 too.
pub(super) fn timestamp(time: SystemTime) -> pb::Timestamp {
    let nanos = match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i128::try_from(since.as_nanos()).unwrap_or(i128::MAX),
        Err(before) => i128::try_from(before.duration().as_nanos()).map_or(i128::MIN, |nanos| -nanos),
    };
    let seconds = nanos.div_euclid(NANOS);
    pb::Timestamp {
        seconds: i64::try_from(seconds).unwrap_or(if seconds < 0 { i64::MIN } else { i64::MAX }),
        nanos: i32::try_from(nanos.rem_euclid(NANOS)).unwrap_or_default(),
    }
}

const NANOS: i128 = 1_000_000_000;

fn equals(key: &str, text: &str) -> pb::Condition {
    matches(key, MatchValue::Keyword(text.to_owned()))
}

fn matches(key: &str, wanted: MatchValue) -> pb::Condition {
    let field = pb::FieldCondition {
        key: key.to_owned(),
        r#match: Some(pb::Match { match_value: Some(wanted) }),
        ..pb::FieldCondition::default()
    };
    one(ConditionOneOf::Field(field))
}

fn field(key: &PayloadKey, set: impl FnOnce(&mut pb::FieldCondition)) -> pb::Condition {
    let mut field = pb::FieldCondition { key: key.as_str().to_owned(), ..pb::FieldCondition::default() };
    set(&mut field);
    one(ConditionOneOf::Field(field))
}

fn all(must: Vec<pb::Condition>) -> pb::Filter {
    pb::Filter { must, ..pb::Filter::default() }
}

fn any(should: Vec<pb::Condition>) -> pb::Filter {
    pb::Filter { should, ..pb::Filter::default() }
}

fn nested(filter: pb::Filter) -> pb::Condition {
    one(ConditionOneOf::Filter(filter))
}

const fn one(condition: ConditionOneOf) -> pb::Condition {
    pb::Condition { condition_one_of: Some(condition) }
}
