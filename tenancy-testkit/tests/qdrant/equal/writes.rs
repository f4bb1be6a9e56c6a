//! Random writes: afterwards the server holds what the engine holds.

use std::collections::HashMap;

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use qdrant_client::qdrant::points_update_operation::{self as batch, Operation};
use qdrant_edge::{
    ConditionalInsertOperation, DeletePayloadOp, Filter, Payload, PayloadOps, PointId, PointInsertOperations,
    PointOperations, PointVectorsPersisted, ScrollRequest, SetPayloadOp, UpdateMode, UpdateOperation, UpdateVectorsOp,
    VectorOperations,
};
use serde_json::Value;

use super::dice::{Dice, scaled};
use super::filters::filter;
use super::points::{COUNT, Row, Twins, id, inserted, payload, wire, wire_id};
use super::reads::same_record;

#[tokio::test]
async fn after_any_write_the_server_holds_what_the_engine_holds() {
    let mut twins = Twins::new(&mut Dice::new(2)).await;
    for seed in 0..scaled(150) {
        let dice = &mut Dice::new(seed);
        let (operation, engine) = write(dice);
        let told = format!("seed {seed}: {operation:?}");
        let request = pb::UpdateBatchPoints {
            operations: vec![pb::PointsUpdateOperation { operation: Some(operation) }],
            wait: Some(true),
            collection_name: "c".into(),
            ..Default::default()
        };
        let answer = twins.house.points.update_batch(request).await;
        let wanted = twins.engine.update(engine);
        assert_eq!(answer.is_ok(), wanted.is_ok(), "{told}: {answer:?} {wanted:?}");
        let all = ScrollRequest {
            limit: Some(10_000),
            with_payload: Some(true.into()),
            with_vector: true.into(),
            ..Default::default()
        };
        let (wanted, _) = twins.engine.scroll(all).unwrap();
        let all = pb::ScrollPoints {
            limit: Some(10_000),
            with_payload: Some(true.into()),
            with_vectors: Some(true.into()),
            collection_name: "c".into(),
            ..Default::default()
        };
        let found = twins.house.points.scroll(all).await.unwrap().into_inner().result;
        assert_eq!(found.len(), wanted.len(), "{told}");
        let different = found.iter().zip(&wanted).find(|(found, wanted)| !same_record(found, wanted));
        assert!(different.is_none(), "{told}: {different:?}");
    }
}

fn write(dice: &mut Dice) -> (Operation, UpdateOperation) {
    match dice.below(8) {
        0 => upsert(dice),
        1 => {
            // Few, or soon nothing would be left.
            let ids = vec![id(dice.below(COUNT))];
            let selector = pb::PointsIdsList { ids: ids.iter().map(|id| wire_id(*id)).collect() };
            let points = Some(selector_of(PointsSelectorOneOf::Points(selector)));
            let engine = PointOperations::DeletePoints { ids };
            (Operation::DeletePoints(batch::DeletePoints { points, ..Default::default() }), engine.into_update())
        }
        2 => {
            let (selector, points, filter) = selected(dice);
            let (wire, fields) = fields(dice);
            let set = batch::SetPayload { payload: wire, points_selector: selector, ..Default::default() };
            let engine = PayloadOps::SetPayload(SetPayloadOp { payload: fields, points, filter, key: None });
            (Operation::SetPayload(set), engine.into_update())
        }
        3 => {
            let (selector, points, filter) = selected(dice);
            let (wire, fields) = fields(dice);
            let set = batch::OverwritePayload { payload: wire, points_selector: selector, ..Default::default() };
            let engine = PayloadOps::OverwritePayload(SetPayloadOp { payload: fields, points, filter, key: None });
            (Operation::OverwritePayload(set), engine.into_update())
        }
        4 => {
            let (selector, points, filter) = selected(dice);
            let key = dice.pick(&["n", "\"tags\"", "place.lon", "items[].k", "absent"]);
            let delete =
                batch::DeletePayload { keys: vec![key.into()], points_selector: selector, ..Default::default() };
            let keys = vec![key.parse().unwrap()];
            let engine = PayloadOps::DeletePayload(DeletePayloadOp { keys, points, filter });
            (Operation::DeletePayload(delete), engine.into_update())
        }
        5 => {
            let (selector, points, filter) = selected(dice);
            let engine = match (points, filter) {
                (Some(points), _) => PayloadOps::ClearPayload { points },
                (None, filter) => PayloadOps::ClearPayloadByFilter(filter.unwrap()),
            };
            (
                Operation::ClearPayload(batch::ClearPayload { points: selector, ..Default::default() }),
                engine.into_update(),
            )
        }
        6 => {
            let row = Row::random(id(dice.below(COUNT)), dice);
            let (update_filter, engine_filter) = filter(dice, 0);
            let points = vec![pb::PointVectors { id: Some(wire_id(row.id)), vectors: Some(row.wire_vectors()) }];
            let update = batch::UpdateVectors { points, update_filter: Some(update_filter), ..Default::default() };
            let engine = UpdateVectorsOp {
                points: vec![PointVectorsPersisted { id: row.id, vector: row.engine().0.vector }],
                update_filter: Some(parsed(engine_filter)),
            };
            (
                Operation::UpdateVectors(update),
                UpdateOperation::VectorOperation(VectorOperations::UpdateVectors(engine)),
            )
        }
        _ => {
            let (selector, points, filter) = selected(dice);
            let names = vec![dice.pick(&["d", "s"]).to_owned()];
            let vectors = Some(pb::VectorsSelector { names: names.clone() });
            let delete = batch::DeleteVectors { points_selector: selector, vectors, ..Default::default() };
            let engine = match (points, filter) {
                (Some(points), _) => VectorOperations::DeleteVectors(points.into(), names),
                (None, filter) => VectorOperations::DeleteVectorsByFilter(filter.unwrap(), names),
            };
            (Operation::DeleteVectors(delete), UpdateOperation::VectorOperation(engine))
        }
    }
}

fn upsert(dice: &mut Dice) -> (Operation, UpdateOperation) {
    let rows: Vec<_> = (0..3).map(|_| Row::random(id(dice.below(COUNT * 2)), dice)).collect();
    let list = batch::PointStructList { points: rows.iter().map(Row::wire).collect(), ..Default::default() };
    let points: Vec<_> = rows.iter().map(Row::engine).collect();
    if dice.once_in(3) {
        return (Operation::Upsert(list), inserted(points));
    }
    let (condition, engine_condition) = filter(dice, 0);
    let (mode, engine_mode) = dice.pick(&[
        (None, None),
        (Some(pb::UpdateMode::InsertOnly), Some(UpdateMode::InsertOnly)),
        (Some(pb::UpdateMode::UpdateOnly), Some(UpdateMode::UpdateOnly)),
    ]);
    let list = batch::PointStructList { update_filter: Some(condition), update_mode: mode.map(Into::into), ..list };
    let engine = ConditionalInsertOperation {
        points_op: PointInsertOperations::PointsList(points.into_iter().map(Into::into).collect()),
        condition: parsed(engine_condition),
        update_mode: engine_mode,
    };
    (Operation::Upsert(list), PointOperations::UpsertPointsConditional(engine).into_update())
}

type Selected = (Option<pb::PointsSelector>, Option<Vec<PointId>>, Option<Filter>);

fn selected(dice: &mut Dice) -> Selected {
    if dice.once_in(2) {
        let ids: Vec<_> = (0..5).map(|_| id(dice.below(COUNT))).collect();
        let list = pb::PointsIdsList { ids: ids.iter().map(|id| wire_id(*id)).collect() };
        return (Some(selector_of(PointsSelectorOneOf::Points(list))), Some(ids), None);
    }
    let (wire, engine) = filter(dice, 1);
    // And of few points: else all would soon be alike.
    let few = serde_json::json!({"key": "n", "range": {"gte": 0, "lt": 50}});
    let range = pb::Range { gte: Some(0.0), lt: Some(50.0), ..Default::default() };
    let wire = pb::Filter::must([pb::Condition::range("n", range), pb::Condition::from(wire)]);
    let engine = serde_json::json!({"must": [few, engine]});
    (Some(selector_of(PointsSelectorOneOf::Filter(wire))), None, Some(parsed(engine)))
}

fn selector_of(one: PointsSelectorOneOf) -> pb::PointsSelector {
    pb::PointsSelector { points_selector_one_of: Some(one) }
}

fn fields(dice: &mut Dice) -> (HashMap<String, pb::Value>, Payload) {
    let Value::Object(mut fields) = payload(dice) else { unreachable!() };
    // A null takes the key away, which is what a merge means here.
    fields.insert("flag".into(), Value::Null);
    (fields.iter().map(|(key, value)| (key.clone(), wire(value))).collect(), Payload(fields))
}

fn parsed(filter: Value) -> Filter {
    serde_json::from_value(filter).unwrap()
}

trait IntoUpdate {
    fn into_update(self) -> UpdateOperation;
}

impl IntoUpdate for PayloadOps {
    fn into_update(self) -> UpdateOperation {
        UpdateOperation::PayloadOperation(self)
    }
}

impl IntoUpdate for PointOperations {
    fn into_update(self) -> UpdateOperation {
        UpdateOperation::PointOperation(self)
    }
}
