//! Reads of random points.

use qdrant_client::qdrant as pb;
use qdrant_edge::{
    CountRequest, Direction, FacetRequest, FacetValue, OrderBy, OrderByInterface, PointId, ScoredPoint, ScrollRequest,
    VectorInternal, VectorStructInternal,
};
use serde_json::{Map, Value, json};
use tonic::Code;

use super::dice::{Dice, scaled};
use super::filters::filter;
use super::points::{COUNT, Twins, id, wire_id};
use super::queries::query;

#[tokio::test]
async fn what_the_server_answers_is_what_the_engine_answers() {
    let mut twins = Twins::new(&mut Dice::new(1)).await;
    let (mut answered, mut refused) = (0, 0);
    for seed in 0..scaled(500) {
        let dice = &mut Dice::new(seed);
        let same = match dice.below(10) {
            0 => counted(&mut twins, dice).await,
            1 => scrolled(&mut twins, dice).await,
            2 => ordered(&mut twins, dice).await,
            3 => faceted(&mut twins, dice).await,
            4 => retrieved(&mut twins, dice).await,
            _ => queried(&mut twins, dice).await,
        };
        match same {
            Ok(true) => answered += 1,
            Ok(false) => refused += 1,
            Err(difference) => panic!("seed {seed}: {difference}"),
        }
    }
    assert!(refused * 20 < answered, "{refused} of {answered} were refused by both: too many to say much");
}

/// Both answered the same, or both refused; or what is different.
type Same = Result<bool, String>;

async fn queried(twins: &mut Twins, dice: &mut Dice) -> Same {
    let (wire, engine) = query(dice);
    let (offset, limit) = (engine.offset, engine.limit);
    let told = format!("{wire:?}");
    let answer = twins.house.points.query(wire).await;
    let wanted = twins.engine.query(engine);
    let (found, wanted) = match (answer, wanted) {
        (Ok(answer), Ok(wanted)) => (answer.into_inner().result, wanted),
        (Err(status), Err(_)) if status.code() == Code::InvalidArgument => return Ok(false),
        (answer, wanted) => return Err(format!("{answer:?} is not {wanted:?}\n{told}")),
    };
    let wanted: Vec<_> = wanted.into_iter().skip(offset).take(limit).collect();
    compare(&found, &wanted).map_err(|difference| format!("{difference}\n{told}"))
}

/// Points of one score come in any order, and which of them are cut off at the end is chance.
fn compare(found: &[pb::ScoredPoint], wanted: &[ScoredPoint]) -> Same {
    let scores = |scores: Vec<f32>| scores.into_iter().map(f32::to_bits).collect::<Vec<_>>();
    let there = scores(found.iter().map(|point| point.score).collect());
    let here = scores(wanted.iter().map(|point| point.score).collect());
    if there != here {
        return Err(format!("scores {found:?}\n{wanted:?}"));
    }
    for point in found {
        let tied = |score: f32| score.to_bits() == point.score.to_bits();
        let Some(same) = wanted.iter().find(|wanted| Some(wire_id(wanted.id)) == point.id) else {
            // Tied with the first or the last, it may have taken the place of another.
            let edges = [wanted.first(), wanted.last()];
            if edges.into_iter().flatten().any(|edge| tied(edge.score)) && point.order_value.is_none() {
                continue;
            }
            return Err(format!("{point:?} is not in {wanted:?}"));
        };
        let payload = same.payload.as_ref().map(|payload| &payload.0);
        let order = same.order_value.map(|value| format!("{value:?}"));
        let wire_order = point.order_value.and_then(|value| value.variant).map(|value| format!("{value:?}"));
        if !tied(same.score)
            || !same_payload(&point.payload, payload)
            || !same_vectors(point.vectors.as_ref(), same.vector.as_ref())
            || order != wire_order
        {
            return Err(format!("{point:?} is not {same:?}"));
        }
    }
    Ok(true)
}

async fn counted(twins: &mut Twins, dice: &mut Dice) -> Same {
    let (wire, engine) = filter(dice, 2);
    let exact = !dice.once_in(4);
    let request = pb::CountPoints {
        filter: Some(wire.clone()),
        exact: Some(exact),
        collection_name: "c".into(),
        ..Default::default()
    };
    let found = twins.house.points.count(request).await.unwrap().into_inner().result.unwrap().count;
    let filter = Some(serde_json::from_value(engine).unwrap());
    let wanted = twins.engine.count(CountRequest { filter, exact }).unwrap() as u64;
    if found == wanted { Ok(true) } else { Err(format!("{found} is not {wanted}: {wire:?}")) }
}

async fn scrolled(twins: &mut Twins, dice: &mut Dice) -> Same {
    let (wire, engine) = filter(dice, 2);
    let (limit, offset) = (dice.below(20) + 1, dice.once_in(2).then(|| id(dice.below(COUNT))));
    let scroll = ScrollRequest {
        offset,
        limit: Some(limit as usize),
        filter: Some(serde_json::from_value(engine).unwrap()),
        with_payload: Some(true.into()),
        with_vector: true.into(),
        order_by: None,
    };
    page(twins, scroll, wire, None).await
}

async fn ordered(twins: &mut Twins, dice: &mut Dice) -> Same {
    let (wire, engine) = filter(dice, 1);
    let key = dice.pick(&["n", "f", "t"]);
    let (direction, wire_direction) =
        dice.pick(&[(Direction::Asc, pb::Direction::Asc), (Direction::Desc, pb::Direction::Desc)]);
    let order = OrderBy { key: key.parse().unwrap(), direction: Some(direction), start_from: None };
    let scroll = ScrollRequest {
        offset: None,
        limit: Some(dice.below(20) as usize + 1),
        filter: Some(serde_json::from_value(engine).unwrap()),
        with_payload: Some(true.into()),
        with_vector: false.into(),
        order_by: Some(OrderByInterface::Struct(order)),
    };
    let wire_order = pb::OrderBy { key: key.into(), direction: Some(wire_direction.into()), start_from: None };
    page(twins, scroll, wire, Some(wire_order)).await
}

async fn page(twins: &mut Twins, scroll: ScrollRequest, filter: pb::Filter, order_by: Option<pb::OrderBy>) -> Same {
    let request = pb::ScrollPoints {
        filter: Some(filter),
        offset: scroll.offset.map(wire_id),
        limit: scroll.limit.map(|limit| limit as u32),
        with_payload: Some(true.into()),
        with_vectors: Some(scroll.with_vector.is_enabled().into()),
        order_by,
        collection_name: "c".into(),
        ..Default::default()
    };
    let answer = twins.house.points.scroll(request).await.unwrap().into_inner();
    let (wanted, next) = twins.engine.scroll(scroll).unwrap();
    let same = answer.result.len() == wanted.len()
        && answer.next_page_offset == next.map(wire_id)
        && answer.result.iter().zip(&wanted).all(|(point, wanted)| same_record(point, wanted));
    if same { Ok(true) } else { Err(format!("{:?} is not {wanted:?}", answer.result)) }
}

async fn faceted(twins: &mut Twins, dice: &mut Dice) -> Same {
    let (wire, engine) = filter(dice, 1);
    let key = dice.pick(&["tenant", "flag", "n"]);
    let request = pb::FacetCounts {
        key: key.into(),
        filter: Some(wire),
        limit: Some(100_000),
        exact: Some(true),
        collection_name: "c".into(),
        ..Default::default()
    };
    let hits = twins.house.points.facet(request).await.unwrap().into_inner().hits;
    let facet = FacetRequest {
        key: key.parse().unwrap(),
        limit: 100_000,
        filter: Some(serde_json::from_value(engine).unwrap()),
        exact: true,
    };
    let wanted = twins.engine.facet(facet).unwrap().hits;
    let said = |value: &FacetValue| match value {
        FacetValue::Keyword(text) => pb::facet_value::Variant::StringValue(text.clone()),
        FacetValue::Int(number) => pb::facet_value::Variant::IntegerValue(*number),
        FacetValue::Bool(flag) => pb::facet_value::Variant::BoolValue(*flag),
        FacetValue::Uuid(_) => unreachable!(),
    };
    let mut wanted: Vec<_> =
        wanted.iter().map(|hit| (hit.count as u64, format!("{:?}", Some(said(&hit.value))))).collect();
    let mut found: Vec<_> = hits
        .iter()
        .map(|hit| (hit.count, format!("{:?}", hit.value.as_ref().and_then(|value| value.variant.clone()))))
        .collect();
    assert!(found.is_sorted_by(|(a, _), (b, _)| a >= b), "the largest first");
    wanted.sort_unstable();
    found.sort_unstable();
    if found == wanted { Ok(true) } else { Err(format!("{found:?} is not {wanted:?}")) }
}

async fn retrieved(twins: &mut Twins, dice: &mut Dice) -> Same {
    let ids: Vec<PointId> = (0..dice.below(5) + 1).map(|_| id(dice.below(COUNT * 2))).collect();
    let request = pb::GetPoints {
        ids: ids.iter().map(|id| wire_id(*id)).collect(),
        with_payload: Some(true.into()),
        with_vectors: Some(true.into()),
        collection_name: "c".into(),
        ..Default::default()
    };
    let found = twins.house.points.get(request).await.unwrap().into_inner().result;
    let wanted = twins.engine.retrieve(&ids, Some(true.into()), Some(true.into())).unwrap();
    let same = found.len() == wanted.len() && found.iter().zip(&wanted).all(|(a, b)| same_record(a, b));
    if same { Ok(true) } else { Err(format!("{found:?} is not {wanted:?}")) }
}

pub(crate) fn same_record(point: &pb::RetrievedPoint, wanted: &qdrant_edge::Record) -> bool {
    let order = wanted.order_value.map(|value| format!("{value:?}"));
    point.id == Some(wire_id(wanted.id))
        && same_payload(&point.payload, wanted.payload.as_ref().map(|payload| &payload.0))
        && same_vectors(point.vectors.as_ref(), wanted.vector.as_ref())
        && order == point.order_value.and_then(|value| value.variant).map(|value| format!("{value:?}"))
}

fn same_payload(found: &std::collections::HashMap<String, pb::Value>, wanted: Option<&Map<String, Value>>) -> bool {
    let found: Map<_, _> = found.iter().map(|(key, value)| (key.clone(), json_of(value))).collect();
    Some(&found) == wanted || (found.is_empty() && wanted.is_none())
}

fn json_of(value: &pb::Value) -> Value {
    use pb::value::Kind;
    match value.kind.as_ref().unwrap() {
        Kind::NullValue(_) => Value::Null,
        Kind::DoubleValue(number) => json!(number),
        Kind::IntegerValue(number) => json!(number),
        Kind::StringValue(text) => json!(text),
        Kind::BoolValue(flag) => json!(flag),
        Kind::StructValue(inner) => inner.fields.iter().map(|(key, value)| (key.clone(), json_of(value))).collect(),
        Kind::ListValue(list) => list.values.iter().map(json_of).collect(),
    }
}

fn same_vectors(found: Option<&pb::VectorsOutput>, wanted: Option<&VectorStructInternal>) -> bool {
    use pb::vector_output::Vector;
    use pb::vectors_output::VectorsOptions;
    let (found, wanted) = match (found.and_then(|found| found.vectors_options.as_ref()), wanted) {
        (None, None) => return true,
        (Some(VectorsOptions::Vectors(found)), Some(VectorStructInternal::Named(wanted))) => (&found.vectors, wanted),
        (Some(_), _) | (None, Some(_)) => return false,
    };
    found.len() == wanted.len()
        && wanted.iter().all(|(name, wanted)| match (found.get(name).and_then(|found| found.vector.as_ref()), wanted) {
            (Some(Vector::Dense(found)), VectorInternal::Dense(wanted)) => found.data == *wanted,
            (Some(Vector::Sparse(found)), VectorInternal::Sparse(wanted)) => {
                found.indices == wanted.indices && found.values == wanted.values
            }
            (Some(Vector::MultiDense(found)), VectorInternal::MultiDense(wanted)) => {
                let rows: Vec<_> = found.vectors.iter().flat_map(|row| row.data.clone()).collect();
                rows == wanted.flattened_vectors
            }
            _ => false,
        })
}
