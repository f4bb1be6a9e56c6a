//! What the requests about collections and shard keys do.

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::update_collection_cluster_setup_request::Operation;
use tonic::Status;

use super::convert::missing;
use super::store::{Collection, Store};
use super::writes;

type Done = Result<pb::CollectionOperationResponse, Status>;

pub(super) fn create(store: &mut Store, request: pb::CreateCollection) -> Done {
    store.create(request)?;
    Ok(pb::CollectionOperationResponse { result: true, time: 0.0 })
}

/// True if there was one.
pub(super) fn delete(store: &mut Store, request: pb::DeleteCollection) -> Done {
    let result = store.collections.remove(&request.collection_name).is_some();
    Ok(pb::CollectionOperationResponse { result, time: 0.0 })
}

/// The metadata and the strict mode are changed; what is about speed and storage is taken and changes nothing.
pub(super) fn update(store: &mut Store, request: pb::UpdateCollection) -> Done {
    let collection = store.collection_mut(&request.collection_name)?;
    collection.created.metadata.extend(request.metadata);
    if request.strict_mode_config.is_some() {
        collection.created.strict_mode_config = request.strict_mode_config;
    }
    Ok(pb::CollectionOperationResponse { result: true, time: 0.0 })
}

pub(super) fn exists(
    store: &Store,
    request: pb::CollectionExistsRequest,
) -> Result<pb::CollectionExistsResponse, Status> {
    let exists = store.collections.contains_key(&request.collection_name);
    Ok(pb::CollectionExistsResponse { result: Some(pb::CollectionExists { exists }), time: 0.0 })
}

pub(super) fn list(store: &Store, _: pb::ListCollectionsRequest) -> Result<pb::ListCollectionsResponse, Status> {
    let names = store.collections.keys().map(|name| pb::CollectionDescription { name: name.clone() });
    Ok(pb::ListCollectionsResponse { collections: names.collect(), time: 0.0 })
}

pub(super) fn get(
    store: &Store,
    request: pb::GetCollectionInfoRequest,
) -> Result<pb::GetCollectionInfoResponse, Status> {
    let result = Some(info(store.collection(&request.collection_name)?)?);
    Ok(pb::GetCollectionInfoResponse { result, time: 0.0 })
}

pub(super) fn cluster(
    store: &Store,
    request: pb::CollectionClusterInfoRequest,
) -> Result<pb::CollectionClusterInfoResponse, Status> {
    let collection = store.collection(&request.collection_name)?;
    let shards = collection.shards.iter().enumerate().map(|(number, shard)| pb::LocalShardInfo {
        shard_id: number as u32,
        points_count: shard.engine.info().points_count as u64,
        state: shard.state.into(),
        shard_key: shard.key.clone(),
    });
    Ok(pb::CollectionClusterInfoResponse {
        peer_id: 1,
        shard_count: collection.shards.len() as u64,
        local_shards: shards.collect(),
        ..Default::default()
    })
}

/// Of what a cluster can be told, only what is about shard keys and their points.
pub(super) fn set_up(
    store: &mut Store,
    request: pb::UpdateCollectionClusterSetupRequest,
) -> Result<pb::UpdateCollectionClusterSetupResponse, Status> {
    match request.operation.ok_or_else(|| missing("the operation"))? {
        Operation::CreateShardKey(key) => store.create_shard_key(&request.collection_name, key)?,
        Operation::DeleteShardKey(key) => delete_key(store, &request.collection_name, key)?,
        Operation::ReplicatePoints(points) => writes::replicate(store.collection(&request.collection_name)?, points)?,
        Operation::MoveShard(_)
        | Operation::ReplicateShard(_)
        | Operation::AbortTransfer(_)
        | Operation::DropReplica(_)
        | Operation::RestartTransfer(_) => return Err(Status::unimplemented("this is not a cluster")),
    }
    Ok(pb::UpdateCollectionClusterSetupResponse { result: true, time: 0.0 })
}

pub(super) fn create_shard_key(
    store: &mut Store,
    request: pb::CreateShardKeyRequest,
) -> Result<pb::CreateShardKeyResponse, Status> {
    let key = request.request.ok_or_else(|| missing("the shard key"))?;
    store.create_shard_key(&request.collection_name, key)?;
    Ok(pb::CreateShardKeyResponse { result: true, time: 0.0 })
}

pub(super) fn delete_shard_key(
    store: &mut Store,
    request: pb::DeleteShardKeyRequest,
) -> Result<pb::DeleteShardKeyResponse, Status> {
    let key = request.request.ok_or_else(|| missing("the shard key"))?;
    delete_key(store, &request.collection_name, key)?;
    Ok(pb::DeleteShardKeyResponse { result: true, time: 0.0 })
}

pub(super) fn list_shard_keys(
    store: &Store,
    request: pb::ListShardKeysRequest,
) -> Result<pb::ListShardKeysResponse, Status> {
    let shards = &store.collection(&request.collection_name)?.shards;
    let keys = shards.iter().filter_map(|shard| shard.key.clone());
    let shard_keys = keys.map(|key| pb::ShardKeyDescription { key: Some(key) }).collect();
    Ok(pb::ListShardKeysResponse { shard_keys, time: 0.0 })
}

fn delete_key(store: &mut Store, collection: &str, request: pb::DeleteShardKey) -> Result<(), Status> {
    let key = request.shard_key.ok_or_else(|| missing("the shard key"))?;
    let shards = &mut store.collection_mut(collection)?.shards;
    let before = shards.len();
    shards.retain(|shard| shard.key.as_ref() != Some(&key));
    if shards.len() == before { Err(Status::invalid_argument("the shard key does not exist")) } else { Ok(()) }
}

fn info(collection: &Collection) -> Result<pb::CollectionInfo, Status> {
    let created = &collection.created;
    let points = collection.points()?;
    let indexes = collection.indexes.values().map(|index| {
        let params = index.field_index_params.as_ref().and_then(|params| params.index_params.as_ref());
        let info = pb::PayloadSchemaInfo {
            data_type: data_type(index, params).into(),
            params: index.field_index_params.clone(),
            points: Some(points),
        };
        (index.field_name.clone(), info)
    });
    Ok(pb::CollectionInfo {
        status: pb::CollectionStatus::Green.into(),
        optimizer_status: Some(pb::OptimizerStatus { ok: true, error: String::new() }),
        segments_count: collection.shards.iter().map(|shard| shard.engine.info().segments_count as u64).sum(),
        config: Some(pb::CollectionConfig {
            params: Some(pb::CollectionParams {
                shard_number: created.shard_number.unwrap_or(1),
                vectors_config: created.vectors_config.clone(),
                replication_factor: Some(created.replication_factor.unwrap_or(1)),
                write_consistency_factor: Some(created.write_consistency_factor.unwrap_or(1)),
                sharding_method: created.sharding_method,
                sparse_vectors_config: created.sparse_vectors_config.clone(),
                ..Default::default()
            }),
            hnsw_config: created.hnsw_config,
            optimizer_config: created.optimizers_config,
            wal_config: created.wal_config,
            quantization_config: created.quantization_config,
            strict_mode_config: created.strict_mode_config.clone(),
            metadata: created.metadata.clone(),
        }),
        payload_schema: indexes.collect(),
        points_count: Some(points),
        indexed_vectors_count: Some(0),
        ..Default::default()
    })
}

fn data_type(
    index: &pb::CreateFieldIndexCollection,
    params: Option<&pb::payload_index_params::IndexParams>,
) -> pb::PayloadSchemaType {
    use pb::payload_index_params::IndexParams;
    use pb::{FieldType, PayloadSchemaType as Type};
    match (params, index.field_type()) {
        (Some(IndexParams::KeywordIndexParams(_)), _) | (None, FieldType::Keyword) => Type::Keyword,
        (Some(IndexParams::IntegerIndexParams(_)), _) | (None, FieldType::Integer) => Type::Integer,
        (Some(IndexParams::FloatIndexParams(_)), _) | (None, FieldType::Float) => Type::Float,
        (Some(IndexParams::GeoIndexParams(_)), _) | (None, FieldType::Geo) => Type::Geo,
        (Some(IndexParams::TextIndexParams(_)), _) | (None, FieldType::Text) => Type::Text,
        (Some(IndexParams::BoolIndexParams(_)), _) | (None, FieldType::Bool) => Type::Bool,
        (Some(IndexParams::DatetimeIndexParams(_)), _) | (None, FieldType::Datetime) => Type::Datetime,
        (Some(IndexParams::UuidIndexParams(_)), _) | (None, FieldType::Uuid) => Type::Uuid,
    }
}
