//! Random filters: as a message, and as the JSON that the engine reads.

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::condition::ConditionOneOf;
use qdrant_client::qdrant::r#match::MatchValue;
use serde_json::{Value, json};

use super::dice::Dice;
use super::points::{COUNT, WORDS, id, wire_id};

type Both = (pb::Condition, Value);

pub(crate) fn filter(dice: &mut Dice, depth: u32) -> (pb::Filter, Value) {
    let list = |dice: &mut Dice, most: u64| -> (Vec<pb::Condition>, Vec<Value>) {
        let count = dice.below(most + 1);
        (0..count).map(|_| condition(dice, depth)).unzip()
    };
    let (must, engine_must) = list(dice, 2);
    let (should, engine_should) = list(dice, 2);
    let (must_not, engine_must_not) = list(dice, 1);
    let mut engine = json!({});
    for (key, conditions) in [("must", engine_must), ("should", engine_should), ("must_not", engine_must_not)] {
        if !conditions.is_empty() {
            engine[key] = conditions.into();
        }
    }
    let min_should = dice.once_in(4).then(|| {
        let (conditions, engine_conditions): (Vec<_>, Vec<_>) = (0..3).map(|_| condition(dice, depth)).unzip();
        let min_count = dice.below(3) + 1;
        engine["min_should"] = json!({"conditions": engine_conditions, "min_count": min_count});
        pb::MinShould { conditions, min_count }
    });
    (pb::Filter { must, should, must_not, min_should }, engine)
}

fn condition(dice: &mut Dice, depth: u32) -> Both {
    let (kind, engine) = match dice.below(if depth > 0 { 16 } else { 14 }) {
        0 => matched(dice, "tenant", &["a", "b", "c", "none"]),
        1 => matched(dice, "tags", &["red", "green", "blue"]),
        2 => {
            let text = format!("{} {}", dice.pick(WORDS), dice.pick(WORDS));
            let (kind, name): (fn(String) -> MatchValue, _) = dice.pick(&[
                (MatchValue::Text as fn(String) -> _, "text"),
                (MatchValue::TextAny, "text_any"),
                (MatchValue::Phrase, "phrase"),
            ]);
            field("text", json!({"match": {name: text}}), |field| field.r#match = value(kind(text.clone())))
        }
        3 => {
            let (from, to) = (dice.below(1000) as f64 - 500.0, dice.below(1000) as f64 - 500.0);
            let range = pb::Range { gte: Some(from), lt: Some(to), ..Default::default() };
            field("n", json!({"range": {"gte": from, "lt": to}}), |field| field.range = Some(range))
        }
        4 => {
            let bound = f64::from(dice.float());
            let range = pb::Range { gt: Some(bound), lte: Some(0.9), ..Default::default() };
            field("f", json!({"range": {"gt": bound, "lte": 0.9}}), |field| field.range = Some(range))
        }
        5 => {
            // 2026-01-01, and 300 days on.
            let seconds = 1_767_225_600 + dice.below(300) as i64 * 86_400;
            let range = pb::DatetimeRange { gte: Some(pb::Timestamp { seconds, nanos: 0 }), ..Default::default() };
            let day = pb::Timestamp { seconds, nanos: 0 }.to_string();
            field("t", json!({"range": {"gte": day}}), |field| field.datetime_range = Some(range))
        }
        6 => area(dice),
        7 => {
            let least = dice.below(3);
            let count = pb::ValuesCount { gte: Some(least), ..Default::default() };
            field("tags", json!({"values_count": {"gte": least}}), |field| field.values_count = Some(count))
        }
        8 => {
            let key = dice.pick(&["n", "tags", "mixed", "absent"]);
            (ConditionOneOf::IsEmpty(pb::IsEmptyCondition { key: key.into() }), json!({"is_empty": {"key": key}}))
        }
        9 => {
            let key = dice.pick(&["n", "tags", "mixed", "absent"]);
            (ConditionOneOf::IsNull(pb::IsNullCondition { key: key.into() }), json!({"is_null": {"key": key}}))
        }
        10 => {
            let ids: Vec<_> = (0..COUNT).filter(|_| dice.once_in(2)).map(id).collect();
            let has_id = ids.iter().map(|id| wire_id(*id)).collect();
            (ConditionOneOf::HasId(pb::HasIdCondition { has_id }), json!({"has_id": ids}))
        }
        11 => {
            let has_vector = dice.pick(&["d", "e", "s"]).to_owned();
            let engine = json!({"has_vector": has_vector});
            (ConditionOneOf::HasVector(pb::HasVectorCondition { has_vector }), engine)
        }
        12 => {
            let flag = dice.once_in(2);
            field("flag", json!({"match": {"value": flag}}), |field| field.r#match = value(MatchValue::Boolean(flag)))
        }
        13 => numbers(dice),
        14 => {
            let least = dice.below(5) as f64;
            let inside = |engine: Value, kind: ConditionOneOf| (vec![pb::Condition::from(kind)], vec![engine]);
            let (kind, engine) = matched(dice, "k", &["x", "y"]);
            let (mut must, mut engine) = inside(engine, kind);
            let range = pb::Range { gte: Some(least), ..Default::default() };
            let (kind, second) = field("v", json!({"range": {"gte": least}}), |field| field.range = Some(range));
            must.push(kind.into());
            engine.push(second);
            let nested =
                pb::NestedCondition { key: "items".into(), filter: Some(pb::Filter { must, ..Default::default() }) };
            (ConditionOneOf::Nested(nested), json!({"nested": {"key": "items", "filter": {"must": engine}}}))
        }
        _ => {
            let (inner, engine) = filter(dice, depth - 1);
            (ConditionOneOf::Filter(inner), engine)
        }
    };
    (kind.into(), engine)
}

fn matched(dice: &mut Dice, key: &str, values: &[&str]) -> (ConditionOneOf, Value) {
    let one = dice.pick(values).to_owned();
    let some: Vec<_> = values.iter().filter(|_| dice.once_in(2)).map(|value| (*value).to_owned()).collect();
    let strings = |some: &[String]| pb::RepeatedStrings { strings: some.to_vec() };
    // The engine's estimate of a list of exceptions is wrong, and panics, if one of them is in no point.
    let held: Vec<_> = some.iter().filter(|value| *value != "none").cloned().collect();
    let (kind, engine) = match dice.below(3) {
        0 => (MatchValue::Keyword(one.clone()), json!({"value": one})),
        1 => (MatchValue::Keywords(strings(&some)), json!({"any": some})),
        _ => (MatchValue::ExceptKeywords(strings(&held)), json!({"except": held})),
    };
    field(key, json!({"match": engine}), |field| field.r#match = value(kind))
}

fn numbers(dice: &mut Dice) -> (ConditionOneOf, Value) {
    let integers = vec![dice.below(3) as i64];
    let list = || pb::RepeatedIntegers { integers: integers.clone() };
    let (kind, engine) = match dice.below(3) {
        0 => (MatchValue::Integer(integers[0]), json!({"value": integers[0]})),
        1 => (MatchValue::Integers(list()), json!({"any": integers})),
        _ => (MatchValue::ExceptIntegers(list()), json!({"except": integers})),
    };
    field("mixed", json!({"match": engine}), |field| field.r#match = value(kind))
}

fn area(dice: &mut Dice) -> (ConditionOneOf, Value) {
    let mut point = || (f64::from(dice.float()) * 20.0, f64::from(dice.float()) * 20.0);
    let ((west, north), (east, south)) = (point(), point());
    let (west, east) = (west.min(east), west.max(east));
    let (south, north) = (south.min(north), south.max(north));
    let at = |(lon, lat)| pb::GeoPoint { lon, lat };
    let engine_at = |(lon, lat): (f64, f64)| json!({"lon": lon, "lat": lat});
    match dice.below(3) {
        0 => {
            let area = pb::GeoRadius { center: Some(at((west, north))), radius: 1_000_000.0 };
            let engine = json!({"geo_radius": {"center": engine_at((west, north)), "radius": 1_000_000.0}});
            field("place", engine, |field| field.geo_radius = Some(area))
        }
        1 => {
            let area = pb::GeoBoundingBox { top_left: Some(at((west, north))), bottom_right: Some(at((east, south))) };
            let corners = json!({"top_left": engine_at((west, north)), "bottom_right": engine_at((east, south))});
            field("place", json!({"geo_bounding_box": corners}), |field| field.geo_bounding_box = Some(area))
        }
        _ => {
            let ring = [(west, south), (east, south), (east, north), (west, south)];
            let exterior = Some(pb::GeoLineString { points: ring.map(at).to_vec() });
            let engine = json!({"geo_polygon": {"exterior": {"points": ring.map(engine_at)}}});
            let area = pb::GeoPolygon { exterior, interiors: vec![] };
            field("place", engine, |field| field.geo_polygon = Some(area))
        }
    }
}

fn field(key: &str, mut engine: Value, set: impl FnOnce(&mut pb::FieldCondition)) -> (ConditionOneOf, Value) {
    let mut field = pb::FieldCondition { key: key.into(), ..Default::default() };
    set(&mut field);
    engine["key"] = key.into();
    (ConditionOneOf::Field(field), engine)
}

fn value(value: MatchValue) -> Option<pb::Match> {
    Some(pb::Match { match_value: Some(value) })
}
