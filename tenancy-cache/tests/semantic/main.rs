//! Answers found by meaning: on memory, a Redis and a cluster for the answers, with vectors that are all alike.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod bounds;
mod c2;
mod ends;
mod lies;
#[expect(dead_code, reason = "shared with another suite")]
#[path = "../behaviour/samples.rs"]
mod samples;

use std::sync::Arc;
use std::time::Duration;

use tenancy_cache::redis::{RedisBackend, RedisOptions};
use tenancy_cache::semantic::{SemanticCache, SemanticSlot, Similarity, TenantSemantic};
use tenancy_cache::{CacheBackend, CacheSettings, Caches, Lookup, MemoryBackend, Put, SemanticParts};
use tenancy_core::chat::{Message, Role};
use tenancy_core::{CorpusWrite, Gate, StoreName, TenantContext};
use tenancy_testkit::{TestTenants, ThrowawayRedis, ThrowawayRedisCluster};
use tenancy_vector::VectorBackend;
use tenancy_vector::conformance::ReferenceBackend;

/// What a service has.
struct World {
    tenants: TestTenants,
    caches: Caches,
    semantic: SemanticCache,
    /// Servers live as long as the world.
    _servers: Box<dyn std::any::Any + Send + Sync>,
}

impl World {
    async fn new() -> Self {
        Self::with(MemoryBackend::new(), ReferenceBackend::new(), Box::new(())).await
    }

    /// With answers in memory, in a Redis, and in a cluster.
    async fn all() -> [(&'static str, Self); 3] {
        let server = ThrowawayRedis::start().await.unwrap_or_else(|e| panic!("{e}"));
        let cluster = ThrowawayRedisCluster::start().await.unwrap_or_else(|e| panic!("{e}"));
        let on_server = patient(RedisOptions::new(&server.url()).unwrap());
        let on_cluster = patient(RedisOptions::cluster(cluster.urls().iter().map(String::as_str)).unwrap());
        let (server, cluster) = (Box::new(server), Box::new(cluster));
        [
            ("memory", Self::new().await),
            ("a server", Self::with(on_server, ReferenceBackend::new(), server).await),
            ("a cluster", Self::with(on_cluster, ReferenceBackend::new(), cluster).await),
        ]
    }

    async fn over(answers: impl CacheBackend, questions: impl VectorBackend) -> Self {
        Self::with(answers, questions, Box::new(())).await
    }

    async fn with(
        answers: impl CacheBackend,
        questions: impl VectorBackend,
        servers: Box<dyn std::any::Any + Send + Sync>,
    ) -> Self {
        let tenants = TestTenants::new().await;
        let settings = CacheSettings::new().patience(Duration::from_secs(10));
        let caches = Caches::with_settings(tenants.realm(), answers, settings);
        let semantic = SemanticCache::new(tenants.realm(), &caches, questions, 3, similarity(0.8)).unwrap();
        semantic.prepare().await.unwrap();
        Self { tenants, caches, semantic, _servers: servers }
    }

    async fn of(&self, tenant: &str) -> TenantSemantic<String> {
        self.semantic.scoped(&self.tenants.context(tenant).await).unwrap()
    }

    async fn of_user(&self, tenant: &str, subject: &str, roles: &[&str]) -> TenantSemantic<String> {
        self.semantic.scoped(&self.tenants.context_of(tenant, subject, roles).await).unwrap()
    }
}

fn patient(options: RedisOptions) -> Arc<RedisBackend> {
    Arc::new(RedisBackend::new(&options.response_timeout(Duration::from_secs(5))).unwrap())
}

fn similarity(cosine: f32) -> Similarity {
    Similarity::new(cosine).unwrap()
}

/// The parts of a question with this text.
fn asks(text: &str) -> SemanticParts {
    let mut parts = SemanticParts { dimensions: 3, ..samples::semantic() };
    *parts.chat.messages.last_mut().unwrap() = Message::new(Role::User, text);
    parts
}

/// What an embedder says that takes all texts for the same.
const SAME: [f32; 3] = [0.6, 0.0, 0.8];

async fn slot(mine: &TenantSemantic<String>, parts: &SemanticParts, vector: &[f32]) -> SemanticSlot<String> {
    match mine.lookup(parts, vector).await.unwrap() {
        Lookup::Miss(slot) => slot,
        other => panic!("a miss, not {other:?}"),
    }
}

async fn fill(mine: &TenantSemantic<String>, parts: &SemanticParts, answer: &str) {
    assert_eq!(slot(mine, parts, &SAME).await.put(&answer.to_owned()).await.unwrap(), Put::Stored);
}

async fn hit_by(mine: &TenantSemantic<String>, parts: &SemanticParts, vector: &[f32]) -> Option<String> {
    match mine.lookup(parts, vector).await.unwrap() {
        Lookup::Hit(answer) => Some(answer),
        Lookup::Miss(_) => None,
        Lookup::Bypass(reason) => panic!("no bypass: {reason}"),
    }
}

async fn hit(mine: &TenantSemantic<String>, parts: &SemanticParts) -> Option<String> {
    hit_by(mine, parts, &SAME).await
}

/// A write to the tenant's documents that has begun.
async fn begin_write(tenants: &TestTenants, context: &TenantContext) -> CorpusWrite {
    let pass = Gate::new(tenants.realm(), StoreName::new("documents")).scoped(context).unwrap();
    let entered = pass.enter("documents.write").await.unwrap();
    let write = entered.begin_corpus_write().await.unwrap();
    entered.changed();
    write
}
