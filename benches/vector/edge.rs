//! A shard of the embedded engine for each tenant: ours, and the engine itself on a copy of the same shards.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use qdrant_edge::external::uuid::Uuid;
use qdrant_edge::{
    Condition, CreateIndex, Distance, EdgeConfigBuilder, EdgeShard, EdgeSparseVectorParamsBuilder,
    EdgeVectorParamsBuilder, FieldCondition, FieldIndexOperations, Filter, Fusion, Match, Modifier, NamedQuery,
    Payload, PayloadFieldSchema, PayloadSchemaType, PointId, PointInsertOperations, PointOperations,
    PointStructPersisted, Prefetch, QueryEnum, QueryRequest, ScoredPoint, ScoringQuery, SparseVector, UpdateOperation,
    ValueVariants, VectorInternal, VectorPersisted, VectorStructPersisted, WalOptions,
};
use tempfile::TempDir;
use tenancy_testkit::TestTenants;
use tenancy_vector::{Schema, VectorStore};
use tenancy_vector_edge::{EdgeBackend, EdgeOptions};

use crate::data::{Corpus, Question};
use crate::wire::ARM;

pub(crate) fn store(root: &Path, tenants: &TestTenants, schema: Schema) -> VectorStore {
    let backend = EdgeBackend::open(EdgeOptions::new(root)).unwrap();
    VectorStore::new(tenants.realm(), backend, schema)
}

/// The engine without us, by life.
pub(crate) struct Raw {
    shards: HashMap<String, Arc<EdgeShard>>,
    /// Dropped last.
    _root: TempDir,
}

impl Raw {
    /// On a copy of shards that nobody has open.
    pub(crate) fn on_a_copy_of(shards: &Path) -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut opened = HashMap::new();
        for entry in shards.read_dir().unwrap().flatten().filter(|entry| entry.path().is_dir()) {
            let copy = root.path().join(entry.file_name());
            copy_directory(&entry.path(), &copy);
            let name = entry.file_name().into_string().unwrap();
            // The name of a partition ends with its life.
            let life = name[name.len() - 32..].to_owned();
            opened.insert(life, Arc::new(EdgeShard::load(&copy, None).unwrap()));
        }
        Self { shards: opened, _root: root }
    }

    pub(crate) async fn dense(&self, life: &str, question: &Question, limit: usize) -> Vec<ScoredPoint> {
        let query = request(life, Some(nearest("dense", question.dense.clone().into())), limit);
        self.ask(life, query).await
    }

    pub(crate) async fn hybrid(&self, life: &str, question: &Question, limit: usize) -> Vec<ScoredPoint> {
        let (indices, values) = question.terms.clone();
        let sparse = VectorInternal::Sparse(SparseVector { indices, values });
        let arm = |query| Prefetch {
            prefetches: Vec::new(),
            query: Some(query),
            limit: ARM as usize,
            params: None,
            filter: Some(of_life(life)),
            score_threshold: None,
        };
        let arms = vec![arm(nearest("dense", question.dense.clone().into())), arm(nearest("sparse", sparse))];
        let fused = ScoringQuery::Fusion(Fusion::Rrf { k: 61, weights: None });
        self.ask(life, QueryRequest { prefetches: arms, ..request(life, Some(fused), limit) }).await
    }

    /// The engine blocks, so a service that has it asks it where blocking is allowed.
    async fn ask(&self, life: &str, query: QueryRequest) -> Vec<ScoredPoint> {
        let shard = Arc::clone(&self.shards[&life.replace('-', "")]);
        tokio::task::spawn_blocking(move || shard.query(query)).await.unwrap().unwrap()
    }
}

/// A shard as ours are: the same vectors, the same log, an index on the life.
pub(crate) fn make(directory: &Path, dimension: usize) -> EdgeShard {
    let wal =
        WalOptions { segment_capacity: 1 << 20, segment_queue_len: 0, retain_closed: std::num::NonZeroUsize::MIN };
    let config = EdgeConfigBuilder::new()
        .wal_options(wal)
        .vector("dense", EdgeVectorParamsBuilder::new(dimension, Distance::Cosine).build())
        .sparse_vector("sparse", EdgeSparseVectorParamsBuilder::new().modifier(Modifier::Idf).build());
    let shard = EdgeShard::new(directory, config.build()).unwrap();
    let index = CreateIndex {
        field_name: "tenancy.life".parse().unwrap(),
        field_schema: Some(PayloadFieldSchema::FieldType(PayloadSchemaType::Keyword)),
    };
    shard.update(UpdateOperation::FieldIndexOperation(FieldIndexOperations::CreateIndex(index))).unwrap();
    shard.flush();
    shard
}

/// A point as one would store it by hand: whose it is, and no more.
pub(crate) fn point(corpus: &Corpus, tenant: usize, life: &str, chunk: usize) -> PointStructPersisted {
    let (indices, values) = corpus.terms(tenant, chunk);
    let mut payload = corpus.payload(tenant, chunk);
    payload.insert("tenancy".to_owned(), serde_json::json!({ "life": life }));
    let vectors = HashMap::from([
        ("dense".to_owned(), VectorPersisted::Dense(corpus.vector(tenant, chunk))),
        ("sparse".to_owned(), VectorPersisted::Sparse(SparseVector { indices, values })),
    ]);
    PointStructPersisted {
        id: PointId::Uuid(Uuid::from_u128((tenant as u128) << 64 | chunk as u128)),
        vector: VectorStructPersisted::Named(vectors),
        payload: Some(Payload(payload)),
    }
}

/// Points as the engine takes them. They are on disk when it was flushed.
pub(crate) fn store_points(shard: &EdgeShard, points: Vec<PointStructPersisted>) {
    let list = PointOperations::UpsertPoints(PointInsertOperations::PointsList(points));
    shard.update(UpdateOperation::PointOperation(list)).unwrap();
}

fn request(life: &str, query: Option<ScoringQuery>, limit: usize) -> QueryRequest {
    QueryRequest {
        prefetches: Vec::new(),
        query,
        filter: Some(of_life(life)),
        score_threshold: None,
        limit,
        offset: 0,
        params: None,
        with_vector: false.into(),
        with_payload: true.into(),
    }
}

fn nearest(using: &str, query: VectorInternal) -> ScoringQuery {
    ScoringQuery::Vector(QueryEnum::Nearest(NamedQuery { query, using: Some(using.to_owned()) }))
}

fn of_life(life: &str) -> Filter {
    let value = ValueVariants::String(life.to_owned());
    let field = FieldCondition::new_match("tenancy.life".parse().unwrap(), Match::new_value(value));
    Filter { should: None, min_should: None, must: Some(vec![Condition::Field(field)]), must_not: None }
}

/// The external id of an answer and its score.
pub(crate) fn found(points: &[ScoredPoint]) -> Vec<(String, f32)> {
    let id = |point: &ScoredPoint| point.payload.as_ref().unwrap().0["tenancy"]["id"].as_str().unwrap().to_owned();
    points.iter().map(|point| (id(point), point.score)).collect()
}

fn copy_directory(from: &Path, to: &PathBuf) {
    std::fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap().flatten() {
        let into = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_directory(&entry.path(), &into);
        } else {
            std::fs::copy(entry.path(), &into).unwrap();
        }
    }
}
