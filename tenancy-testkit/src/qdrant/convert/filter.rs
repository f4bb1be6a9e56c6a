//! Filters, every condition.

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::condition::ConditionOneOf;
use qdrant_client::qdrant::r#match::MatchValue;
use qdrant_edge::external::ordered_float::OrderedFloat;
use qdrant_edge::{
    AnyVariants, Condition, DateTimeWrapper, FieldCondition, Filter, GeoBoundingBox, GeoPoint, GeoPolygon, GeoRadius,
    HasIdCondition, HasVectorCondition, IsEmptyCondition, IsNullCondition, Match, MatchExcept, MatchPhrase, MatchText,
    MatchTextAny, MinShould, Nested, NestedCondition, Range, RangeInterface, ValueVariants, ValuesCount,
};
use serde_json::json;
use tonic::Status;

use super::{missing, path, point_id};

pub(crate) fn optional(filter: Option<pb::Filter>) -> Result<Option<Filter>, Status> {
    filter.map(self::filter).transpose()
}

/// As a server does it: a condition of no kind is left out, and a list of none is no list, which matches everything.
pub(crate) fn filter(filter: pb::Filter) -> Result<Filter, Status> {
    let pb::Filter { should, must, must_not, min_should } = filter;
    let min_should = match min_should {
        None => None,
        Some(pb::MinShould { conditions, min_count }) => {
            Some(MinShould { conditions: list(conditions)?.unwrap_or_default(), min_count: min_count as usize })
        }
    };
    Ok(Filter { should: list(should)?, min_should, must: list(must)?, must_not: list(must_not)? })
}

pub(crate) fn geo_point(point: Option<pb::GeoPoint>) -> Result<GeoPoint, Status> {
    let pb::GeoPoint { lon, lat } = point.ok_or_else(|| missing("a geo point"))?;
    GeoPoint::new(lon, lat).map_err(|_| Status::invalid_argument("a geo point is out of range"))
}

fn list(conditions: Vec<pb::Condition>) -> Result<Option<Vec<Condition>>, Status> {
    let kinds = conditions.into_iter().filter_map(|condition| condition.condition_one_of);
    let conditions = kinds.map(condition).collect::<Result<Vec<_>, _>>()?;
    Ok((!conditions.is_empty()).then_some(conditions))
}

pub(crate) fn condition(condition: ConditionOneOf) -> Result<Condition, Status> {
    Ok(match condition {
        ConditionOneOf::Field(field) => Condition::Field(self::field(field)?),
        ConditionOneOf::IsEmpty(empty) => Condition::IsEmpty(IsEmptyCondition::from(path(&empty.key)?)),
        ConditionOneOf::IsNull(null) => Condition::IsNull(IsNullCondition::from(path(&null.key)?)),
        ConditionOneOf::HasId(ids) => {
            let ids = ids.has_id.into_iter().map(point_id).collect::<Result<Vec<_>, _>>()?;
            Condition::HasId(ids.into_iter().collect::<HasIdCondition>())
        }
        ConditionOneOf::HasVector(vector) => Condition::HasVector(HasVectorCondition { has_vector: vector.has_vector }),
        ConditionOneOf::Filter(inner) => Condition::Filter(filter(inner)?),
        ConditionOneOf::Nested(nested) => {
            let filter = filter(nested.filter.ok_or_else(|| missing("the filter of a nested condition"))?)?;
            Condition::Nested(NestedCondition::new(Nested { key: path(&nested.key)?, filter }))
        }
        ConditionOneOf::Slice(_) => return Err(Status::unimplemented("the engine has no slices")),
    })
}

fn field(condition: pb::FieldCondition) -> Result<FieldCondition, Status> {
    let pb::FieldCondition {
        key,
        r#match,
        range,
        geo_bounding_box,
        geo_radius,
        values_count,
        geo_polygon,
        datetime_range,
        is_empty,
        is_null,
    } = condition;
    let range = match (range, datetime_range) {
        (Some(_), Some(_)) => return Err(Status::invalid_argument("a range of numbers and of times at once")),
        (Some(pb::Range { lt, gt, gte, lte }), None) => Some(RangeInterface::Float(Range {
            lt: lt.map(OrderedFloat),
            gt: gt.map(OrderedFloat),
            gte: gte.map(OrderedFloat),
            lte: lte.map(OrderedFloat),
        })),
        (None, Some(pb::DatetimeRange { lt, gt, gte, lte })) => Some(RangeInterface::DateTime(Range {
            lt: lt.as_ref().map(time).transpose()?,
            gt: gt.as_ref().map(time).transpose()?,
            gte: gte.as_ref().map(time).transpose()?,
            lte: lte.as_ref().map(time).transpose()?,
        })),
        (None, None) => None,
    };
    let field = FieldCondition {
        key: path(&key)?,
        r#match: r#match.map(self::r#match).transpose()?,
        range,
        geo_bounding_box: geo_bounding_box.map(bounding_box).transpose()?,
        geo_radius: geo_radius.map(radius).transpose()?,
        geo_polygon: geo_polygon.map(polygon).transpose()?,
        values_count: values_count.map(count),
        is_empty,
        is_null,
    };
    if field.all_fields_none() {
        return Err(Status::invalid_argument("at least one field condition must be specified"));
    }
    Ok(field)
}

fn r#match(value: pb::Match) -> Result<Match, Status> {
    let strings = |list: pb::RepeatedStrings| AnyVariants::Strings(list.strings.into_iter().collect());
    let integers = |list: pb::RepeatedIntegers| AnyVariants::Integers(list.integers.into_iter().collect());
    Ok(match value.match_value.ok_or_else(|| missing("the value of a match"))? {
        MatchValue::Keyword(text) => Match::new_value(ValueVariants::String(text)),
        MatchValue::Integer(number) => Match::new_value(ValueVariants::Integer(number)),
        MatchValue::Boolean(flag) => Match::new_value(ValueVariants::Bool(flag)),
        MatchValue::Text(text) => Match::Text(MatchText { text }),
        MatchValue::TextAny(text_any) => Match::TextAny(MatchTextAny { text_any }),
        MatchValue::Phrase(phrase) => Match::Phrase(MatchPhrase { phrase }),
        MatchValue::Keywords(list) => Match::new_any(strings(list)),
        MatchValue::Integers(list) => Match::new_any(integers(list)),
        MatchValue::ExceptKeywords(list) => Match::Except(MatchExcept { except: strings(list) }),
        MatchValue::ExceptIntegers(list) => Match::Except(MatchExcept { except: integers(list) }),
        MatchValue::Prefix(_) => return Err(Status::unimplemented("the engine matches no prefixes")),
        MatchValue::Substring(_) => return Err(Status::unimplemented("the engine matches no substrings")),
    })
}

fn time(time: &pb::Timestamp) -> Result<DateTimeWrapper, Status> {
    time.to_string().parse().map_err(|_| Status::invalid_argument("a time is out of range"))
}

fn bounding_box(area: pb::GeoBoundingBox) -> Result<GeoBoundingBox, Status> {
    Ok(GeoBoundingBox { top_left: geo_point(area.top_left)?, bottom_right: geo_point(area.bottom_right)? })
}

fn radius(area: pb::GeoRadius) -> Result<GeoRadius, Status> {
    Ok(GeoRadius { center: geo_point(area.center)?, radius: OrderedFloat(f64::from(area.radius)) })
}

/// Through JSON: the engine's type for a ring has no public name.
fn polygon(area: pb::GeoPolygon) -> Result<GeoPolygon, Status> {
    let ring = |line: pb::GeoLineString| {
        let points: Vec<_> = line.points.iter().map(|point| json!({"lon": point.lon, "lat": point.lat})).collect();
        json!({ "points": points })
    };
    let exterior = ring(area.exterior.ok_or_else(|| missing("the exterior of a polygon"))?);
    let interiors: Vec<_> = area.interiors.into_iter().map(ring).collect();
    serde_json::from_value(json!({"exterior": exterior, "interiors": interiors}))
        .map_err(|error| Status::invalid_argument(error.to_string()))
}

fn count(count: pb::ValuesCount) -> ValuesCount {
    let size = |size: Option<u64>| size.map(|size| size as usize);
    ValuesCount { lt: size(count.lt), gt: size(count.gt), gte: size(count.gte), lte: size(count.lte) }
}
