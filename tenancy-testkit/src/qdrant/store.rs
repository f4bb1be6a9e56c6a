//! The collections: one shard of the engine for each collection and shard key.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use qdrant_client::qdrant as pb;
use qdrant_edge::{
    CountRequest, CreateIndex, Distance, EdgeConfig, EdgeConfigBuilder, EdgeShard, EdgeSparseVectorParamsBuilder,
    EdgeVectorParams, EdgeVectorParamsBuilder, FieldIndexOperations, MultiVectorComparator, MultiVectorConfig,
    UpdateOperation, WalOptions,
};
use tempfile::TempDir;
use tonic::Status;

use super::convert::{field_schema, path, refused};
use crate::scratch_directory;

/// All collections, in a directory that goes when the server does.
pub(super) struct Store {
    pub(super) collections: BTreeMap<String, Collection>,
    made: u64,
    /// Dropped last: a shard writes to its files when it goes, and panics without them.
    directory: TempDir,
}

pub(super) struct Collection {
    pub(super) created: pb::CreateCollection,
    pub(super) shards: Vec<Shard>,
    /// The requests that made the indexes, by key, for the shards that are still to come.
    pub(super) indexes: BTreeMap<String, pb::CreateFieldIndexCollection>,
    /// The sparse vectors whose terms are weighed by how rare they are.
    pub(super) weighed: BTreeSet<String>,
}

pub(super) struct Shard {
    pub(super) key: Option<pb::ShardKey>,
    /// Requests go to the fallback of their selector unless it is.
    pub(super) state: pb::ReplicaState,
    pub(super) engine: EdgeShard,
}

impl Store {
    pub(super) fn new() -> Self {
        Self { directory: scratch_directory(), collections: BTreeMap::new(), made: 0 }
    }

    pub(super) fn collection(&self, name: &str) -> Result<&Collection, Status> {
        self.collections.get(name).ok_or_else(|| absent(name))
    }

    pub(super) fn collection_mut(&mut self, name: &str) -> Result<&mut Collection, Status> {
        self.collections.get_mut(name).ok_or_else(|| absent(name))
    }

    pub(super) fn create(&mut self, request: pb::CreateCollection) -> Result<(), Status> {
        let name = request.collection_name.clone();
        if name.is_empty() {
            return Err(Status::invalid_argument("the name of a collection is empty"));
        }
        if self.collections.contains_key(&name) {
            return Err(Status::already_exists(format!("Wrong input: Collection `{name}` already exists!")));
        }
        let mut collection =
            Collection { weighed: weighed(&request), created: request, shards: Vec::new(), indexes: BTreeMap::new() };
        if !collection.is_keyed() {
            let shard = Shard::make(&self.next_directory(), &collection, None, pb::ReplicaState::Active)?;
            collection.shards.push(shard);
        }
        self.collections.insert(name, collection);
        Ok(())
    }

    pub(super) fn create_shard_key(&mut self, name: &str, request: pb::CreateShardKey) -> Result<(), Status> {
        let key = request.shard_key.filter(|key| key.key.is_some());
        let key = key.ok_or_else(|| Status::invalid_argument("the shard key is missing"))?;
        let state = match request.initial_state.map(pb::ReplicaState::try_from) {
            None => pb::ReplicaState::Active,
            Some(state) => state.map_err(|_| Status::invalid_argument("an unknown state of a replica"))?,
        };
        let directory = self.next_directory();
        let collection = self.collection_mut(name)?;
        if !collection.is_keyed() {
            return Err(Status::invalid_argument("shard keys need a collection with custom sharding"));
        }
        if collection.shards.iter().any(|shard| shard.key.as_ref() == Some(&key)) {
            return Err(Status::invalid_argument("the shard key already exists"));
        }
        let shard = Shard::make(&directory, collection, Some(key), state)?;
        collection.shards.push(shard);
        Ok(())
    }

    fn next_directory(&mut self) -> PathBuf {
        self.made += 1;
        self.directory.path().join(self.made.to_string())
    }
}

impl Collection {
    pub(super) fn is_keyed(&self) -> bool {
        self.created.sharding_method == Some(pb::ShardingMethod::Custom.into())
    }

    /// The shards that a read asks: those of the selector's keys, all without a selector.
    pub(super) fn reading(&self, selector: Option<pb::ShardKeySelector>) -> Result<Vec<&Shard>, Status> {
        match selector {
            Some(selector) if !selector.shard_keys.is_empty() => self.selected(selector),
            _ => Ok(self.shards.iter().collect()),
        }
    }

    /// The shards that a write goes to. A collection with shard keys takes none that names no key.
    pub(super) fn writing(&self, selector: Option<pb::ShardKeySelector>) -> Result<Vec<&Shard>, Status> {
        match selector {
            Some(selector) if !selector.shard_keys.is_empty() => self.selected(selector),
            _ if self.is_keyed() => Err(Status::invalid_argument("Wrong input: Shard key not specified")),
            _ => Ok(self.shards.iter().collect()),
        }
    }

    fn selected(&self, selector: pb::ShardKeySelector) -> Result<Vec<&Shard>, Status> {
        let pb::ShardKeySelector { shard_keys, fallback } = selector;
        let find = |key: &pb::ShardKey| self.shards.iter().find(|shard| shard.key.as_ref() == Some(key));
        let mut found: Vec<&Shard> = Vec::new();
        for key in shard_keys {
            let active = find(&key).filter(|shard| shard.state == pb::ReplicaState::Active || fallback.is_none());
            let shard = active.or_else(|| fallback.as_ref().and_then(find));
            let shard = shard.ok_or_else(|| Status::not_found("Not found: Shard key not found"))?;
            if !found.iter().any(|there| std::ptr::eq(*there, shard)) {
                found.push(shard);
            }
        }
        Ok(found)
    }

    /// How the scores of a vector are ordered.
    pub(super) fn smaller_is_better(&self, vector: &str) -> bool {
        use pb::vectors_config::Config;
        let params = match self.created.vectors_config.as_ref().and_then(|config| config.config.as_ref()) {
            Some(Config::Params(params)) if vector.is_empty() => Some(params),
            Some(Config::ParamsMap(map)) => map.map.get(vector),
            Some(Config::Params(_)) | None => None,
        };
        params.is_some_and(|params| {
            matches!(pb::Distance::try_from(params.distance), Ok(pb::Distance::Euclid | pb::Distance::Manhattan))
        })
    }

    pub(super) fn points(&self) -> Result<u64, Status> {
        let counts = self.shards.iter().map(Shard::points);
        counts.sum()
    }
}

impl Shard {
    fn make(
        directory: &Path,
        collection: &Collection,
        key: Option<pb::ShardKey>,
        state: pb::ReplicaState,
    ) -> Result<Self, Status> {
        std::fs::create_dir_all(directory).map_err(|error| Status::internal(error.to_string()))?;
        let engine = EdgeShard::new(directory, config(&collection.created)?).map_err(refused)?;
        let shard = Self { key, state, engine };
        for index in collection.indexes.values() {
            shard.index(index)?;
        }
        Ok(shard)
    }

    pub(super) fn index(&self, request: &pb::CreateFieldIndexCollection) -> Result<(), Status> {
        let field_schema = Some(field_schema(request.field_type, request.field_index_params.clone())?);
        let create = CreateIndex { field_name: path(&request.field_name)?, field_schema };
        self.update(UpdateOperation::FieldIndexOperation(FieldIndexOperations::CreateIndex(create)))
    }

    pub(super) fn update(&self, operation: UpdateOperation) -> Result<(), Status> {
        self.engine.update(operation).map_err(refused)
    }

    fn points(&self) -> Result<u64, Status> {
        let count = self.engine.count(CountRequest { filter: None, exact: true });
        count.map(|count| count as u64).map_err(refused)
    }
}

/// What the engine is told of a collection: its vectors. It has no modifier on sparse ones, since it can't count terms
/// over a corpus; [`rarity`](super::rarity) does.
fn config(request: &pb::CreateCollection) -> Result<EdgeConfig, Status> {
    use pb::vectors_config::Config;
    // The engine's default is 32 MiB for each shard.
    let wal = WalOptions { segment_capacity: 1 << 20, segment_queue_len: 0, retain_closed: NonZeroUsize::MIN };
    let mut config = EdgeConfigBuilder::new().wal_options(wal);
    match request.vectors_config.as_ref().and_then(|config| config.config.as_ref()) {
        None => {}
        Some(Config::Params(params)) => config = config.vector("", dense(params)?),
        Some(Config::ParamsMap(map)) => {
            for (name, params) in &map.map {
                config = config.vector(name, dense(params)?);
            }
        }
    }
    for name in request.sparse_vectors_config.iter().flat_map(|config| config.map.keys()) {
        config = config.sparse_vector(name, EdgeSparseVectorParamsBuilder::new().build());
    }
    Ok(config.build())
}

fn dense(params: &pb::VectorParams) -> Result<EdgeVectorParams, Status> {
    let distance = match pb::Distance::try_from(params.distance) {
        Ok(pb::Distance::Cosine) => Distance::Cosine,
        Ok(pb::Distance::Euclid) => Distance::Euclid,
        Ok(pb::Distance::Dot) => Distance::Dot,
        Ok(pb::Distance::Manhattan) => Distance::Manhattan,
        Ok(pb::Distance::UnknownDistance) | Err(_) => return Err(Status::invalid_argument("an unknown distance")),
    };
    if params.size == 0 || params.size > 1 << 16 {
        return Err(Status::invalid_argument("the size of a vector must be from 1 to 65536"));
    }
    if params.datatype.is_some_and(|datatype| datatype > pb::Datatype::Float32.into()) {
        return Err(Status::unimplemented("numbers are stored in 32 bits here"));
    }
    let builder = EdgeVectorParamsBuilder::new(params.size as usize, distance);
    Ok(match params.multivector_config {
        None => builder.build(),
        Some(_) => builder.multivector_config(MultiVectorConfig { comparator: MultiVectorComparator::MaxSim }).build(),
    })
}

fn weighed(request: &pb::CreateCollection) -> BTreeSet<String> {
    let sparse = request.sparse_vectors_config.iter().flat_map(|config| &config.map);
    let weighed = sparse.filter(|(_, params)| params.modifier == Some(pb::Modifier::Idf.into()));
    weighed.map(|(name, _)| name.clone()).collect()
}

fn absent(name: &str) -> Status {
    Status::not_found(format!("Not found: Collection `{name}` doesn't exist!"))
}
