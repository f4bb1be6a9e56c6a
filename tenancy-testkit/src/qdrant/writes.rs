//! What writes do. Each is done before it is answered; one that did not ask to wait is answered as `Acknowledged` all the
//! same, as a server does.

use std::collections::HashMap;

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::points_update_operation::{self as batch, Operation};
use qdrant_edge::{
    ConditionalInsertOperation, DeletePayloadOp, PayloadOps, PointInsertOperations, PointOperations, SetPayloadOp,
    UpdateMode, UpdateOperation, UpdateVectorsOp, VectorOperations,
};
use tonic::Status;

use super::convert::{Selected, missing, optional_filter, path, payload, persisted, selected, vectors_of};
use super::store::{Collection, Store};

type Done = Result<pb::PointsOperationResponse, Status>;

pub(super) fn upsert(store: &mut Store, request: pb::UpsertPoints) -> Done {
    let list = batch::PointStructList {
        points: request.points,
        shard_key_selector: request.shard_key_selector,
        update_filter: request.update_filter,
        update_mode: request.update_mode,
    };
    one(store, &request.collection_name, request.wait, Operation::Upsert(list))
}

pub(super) fn delete(store: &mut Store, request: pb::DeletePoints) -> Done {
    let points = batch::DeletePoints { points: request.points, shard_key_selector: request.shard_key_selector };
    one(store, &request.collection_name, request.wait, Operation::DeletePoints(points))
}

pub(super) fn update_vectors(store: &mut Store, request: pb::UpdatePointVectors) -> Done {
    let vectors = batch::UpdateVectors {
        points: request.points,
        shard_key_selector: request.shard_key_selector,
        update_filter: request.update_filter,
    };
    one(store, &request.collection_name, request.wait, Operation::UpdateVectors(vectors))
}

pub(super) fn delete_vectors(store: &mut Store, request: pb::DeletePointVectors) -> Done {
    let vectors = batch::DeleteVectors {
        points_selector: request.points_selector,
        vectors: request.vectors,
        shard_key_selector: request.shard_key_selector,
    };
    one(store, &request.collection_name, request.wait, Operation::DeleteVectors(vectors))
}

pub(super) fn set_payload(store: &mut Store, request: pb::SetPayloadPoints) -> Done {
    let set = batch::SetPayload {
        payload: request.payload,
        points_selector: request.points_selector,
        shard_key_selector: request.shard_key_selector,
        key: request.key,
    };
    one(store, &request.collection_name, request.wait, Operation::SetPayload(set))
}

pub(super) fn overwrite_payload(store: &mut Store, request: pb::SetPayloadPoints) -> Done {
    let overwrite = batch::OverwritePayload {
        payload: request.payload,
        points_selector: request.points_selector,
        shard_key_selector: request.shard_key_selector,
        key: request.key,
    };
    one(store, &request.collection_name, request.wait, Operation::OverwritePayload(overwrite))
}

pub(super) fn delete_payload(store: &mut Store, request: pb::DeletePayloadPoints) -> Done {
    let delete = batch::DeletePayload {
        keys: request.keys,
        points_selector: request.points_selector,
        shard_key_selector: request.shard_key_selector,
    };
    one(store, &request.collection_name, request.wait, Operation::DeletePayload(delete))
}

pub(super) fn clear_payload(store: &mut Store, request: pb::ClearPayloadPoints) -> Done {
    let clear = batch::ClearPayload { points: request.points, shard_key_selector: request.shard_key_selector };
    one(store, &request.collection_name, request.wait, Operation::ClearPayload(clear))
}

/// In order; what was done before one fails stays done.
pub(super) fn update_batch(
    store: &mut Store,
    request: pb::UpdateBatchPoints,
) -> Result<pb::UpdateBatchResponse, Status> {
    let collection = store.collection(&request.collection_name)?;
    let mut result = Vec::new();
    for operation in request.operations {
        let operation = operation.operation.ok_or_else(|| missing("an operation"))?;
        apply(collection, operation)?;
        result.push(update_result(request.wait));
    }
    Ok(pb::UpdateBatchResponse { result, ..Default::default() })
}

pub(super) fn create_field_index(store: &mut Store, request: pb::CreateFieldIndexCollection) -> Done {
    let collection = store.collection_mut(&request.collection_name)?;
    for shard in &collection.shards {
        shard.index(&request)?;
    }
    let wait = request.wait;
    collection.indexes.insert(request.field_name.clone(), request);
    Ok(answer(wait))
}

pub(super) fn delete_field_index(store: &mut Store, request: pb::DeleteFieldIndexCollection) -> Done {
    use qdrant_edge::FieldIndexOperations;
    let collection = store.collection_mut(&request.collection_name)?;
    let field = path(&request.field_name)?;
    for shard in &collection.shards {
        shard.update(UpdateOperation::FieldIndexOperation(FieldIndexOperations::DeleteIndex(field.clone())))?;
    }
    collection.indexes.remove(&request.field_name);
    Ok(answer(request.wait))
}

/// The points that a filter selects are copied from the shard of one key to that of another.
pub(super) fn replicate(collection: &Collection, request: pb::ReplicatePoints) -> Result<(), Status> {
    let shard = |key: Option<pb::ShardKey>| {
        let key = key.ok_or_else(|| missing("a shard key"))?;
        let selector = pb::ShardKeySelector { shard_keys: vec![key], fallback: None };
        collection.reading(Some(selector))?.into_iter().next().ok_or_else(|| missing("a shard"))
    };
    let (from, to) = (shard(request.from_shard_key)?, shard(request.to_shard_key)?);
    let scroll = qdrant_edge::ScrollRequest {
        offset: None,
        limit: Some(from.engine.info().points_count.max(1)),
        filter: optional_filter(request.filter)?,
        with_payload: Some(true.into()),
        with_vector: true.into(),
        order_by: None,
    };
    let (records, _) = from.engine.scroll(scroll).map_err(super::convert::refused)?;
    let points = records.into_iter().map(|record| qdrant_edge::PointStructPersisted {
        id: record.id,
        vector: record.vector.map_or_else(|| qdrant_edge::VectorStructPersisted::Named(HashMap::new()), Into::into),
        payload: record.payload,
    });
    let points = PointInsertOperations::PointsList(points.collect());
    to.update(UpdateOperation::PointOperation(PointOperations::UpsertPoints(points)))
}

fn one(store: &Store, collection: &str, wait: Option<bool>, operation: Operation) -> Done {
    apply(store.collection(collection)?, operation)?;
    Ok(answer(wait))
}

fn answer(wait: Option<bool>) -> pb::PointsOperationResponse {
    pb::PointsOperationResponse { result: Some(update_result(wait)), ..Default::default() }
}

fn update_result(wait: Option<bool>) -> pb::UpdateResult {
    let status = match wait {
        Some(true) => pb::UpdateStatus::Completed,
        Some(false) | None => pb::UpdateStatus::Acknowledged,
    };
    pb::UpdateResult { operation_id: Some(0), status: status.into() }
}

fn apply(collection: &Collection, operation: Operation) -> Result<(), Status> {
    let (shard_keys, operation) = lowered(operation)?;
    for shard in collection.writing(shard_keys)? {
        shard.update(operation.clone())?;
    }
    Ok(())
}

#[expect(deprecated, reason = "a server still reads the operations of older clients")]
fn lowered(operation: Operation) -> Result<(Option<pb::ShardKeySelector>, UpdateOperation), Status> {
    Ok(match operation {
        Operation::Upsert(list) => (list.shard_key_selector.clone(), UpdateOperation::PointOperation(inserted(list)?)),
        Operation::DeletePoints(delete) => (delete.shard_key_selector, deleted(selected(delete.points)?)),
        Operation::DeleteDeprecated(points) => (None, deleted(selected(Some(points))?)),
        Operation::SetPayload(set) => {
            let operation = merged(set.payload, set.points_selector, set.key)?;
            (set.shard_key_selector, UpdateOperation::PayloadOperation(PayloadOps::SetPayload(operation)))
        }
        Operation::OverwritePayload(set) => {
            let operation = merged(set.payload, set.points_selector, set.key)?;
            (set.shard_key_selector, UpdateOperation::PayloadOperation(PayloadOps::OverwritePayload(operation)))
        }
        Operation::DeletePayload(delete) => {
            let (points, filter) = selection(selected(delete.points_selector)?);
            let keys = delete.keys.iter().map(|key| path(key)).collect::<Result<_, _>>()?;
            let operation = PayloadOps::DeletePayload(DeletePayloadOp { keys, points, filter });
            (delete.shard_key_selector, UpdateOperation::PayloadOperation(operation))
        }
        Operation::ClearPayload(clear) => (clear.shard_key_selector, cleared(selected(clear.points)?)),
        Operation::ClearPayloadDeprecated(points) => (None, cleared(selected(Some(points))?)),
        Operation::UpdateVectors(vectors) => {
            let points = vectors.points.into_iter().map(vectors_of).collect::<Result<_, _>>()?;
            let update = UpdateVectorsOp { points, update_filter: optional_filter(vectors.update_filter)? };
            (vectors.shard_key_selector, UpdateOperation::VectorOperation(VectorOperations::UpdateVectors(update)))
        }
        Operation::DeleteVectors(vectors) => {
            let names = vectors.vectors.ok_or_else(|| missing("the names of the vectors"))?.names;
            let operation = match selected(vectors.points_selector)? {
                Selected::Ids(ids) => VectorOperations::DeleteVectors(ids.into(), names),
                Selected::Filter(filter) => VectorOperations::DeleteVectorsByFilter(filter, names),
            };
            (vectors.shard_key_selector, UpdateOperation::VectorOperation(operation))
        }
    })
}

/// Without a filter a point takes the place of whatever has its id.
fn inserted(list: batch::PointStructList) -> Result<PointOperations, Status> {
    let points = list.points.into_iter().map(persisted).collect::<Result<_, _>>()?;
    let points_op = PointInsertOperations::PointsList(points);
    let mode = match list.update_mode.map(pb::UpdateMode::try_from) {
        None => None,
        Some(Ok(pb::UpdateMode::Upsert)) => Some(UpdateMode::Upsert),
        Some(Ok(pb::UpdateMode::InsertOnly)) => Some(UpdateMode::InsertOnly),
        Some(Ok(pb::UpdateMode::UpdateOnly)) => Some(UpdateMode::UpdateOnly),
        Some(Err(_)) => return Err(Status::invalid_argument("an unknown update mode")),
    };
    let condition = optional_filter(list.update_filter)?;
    Ok(match (condition, mode) {
        (None, None | Some(UpdateMode::Upsert)) => PointOperations::UpsertPoints(points_op),
        (condition, update_mode) => PointOperations::UpsertPointsConditional(ConditionalInsertOperation {
            points_op,
            condition: condition.unwrap_or_default(),
            update_mode,
        }),
    })
}

fn deleted(points: Selected) -> UpdateOperation {
    UpdateOperation::PointOperation(match points {
        Selected::Ids(ids) => PointOperations::DeletePoints { ids },
        Selected::Filter(filter) => PointOperations::DeletePointsByFilter(filter),
    })
}

fn cleared(points: Selected) -> UpdateOperation {
    UpdateOperation::PayloadOperation(match points {
        Selected::Ids(points) => PayloadOps::ClearPayload { points },
        Selected::Filter(filter) => PayloadOps::ClearPayloadByFilter(filter),
    })
}

fn merged(
    fields: HashMap<String, pb::Value>,
    points: Option<pb::PointsSelector>,
    key: Option<String>,
) -> Result<SetPayloadOp, Status> {
    let (points, filter) = selection(selected(points)?);
    Ok(SetPayloadOp { payload: payload(fields)?, points, filter, key: key.as_deref().map(path).transpose()? })
}

fn selection(points: Selected) -> (Option<Vec<qdrant_edge::PointId>>, Option<qdrant_edge::Filter>) {
    match points {
        Selected::Ids(ids) => (Some(ids), None),
        Selected::Filter(filter) => (None, Some(filter)),
    }
}
