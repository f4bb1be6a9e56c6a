//! A vector back end that answers with somebody else's questions, and one that is not there.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tenancy_cache::{Bypass, Layer, Lookup, MemoryBackend, Put, SemanticParts};
use tenancy_core::{StoreName, StoreVerdict, Visibility};
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::{
    BackendError, CountRequest, DenseVector, DropScope, FacetRequest, FilterValue, FoundPoint, IndexKind, PayloadKey,
    Point, PointKey, QueryRequest, Schema, ScoredPayload, Scroll, ScrollRequest, StoredPayload, VectorBackend,
    VectorName, VectorScope, VectorStore, WriteRequest, WriteScope,
};

use tokio::sync::Notify;

use crate::{SAME, World, asks, fill, hit, hit_by, similarity, slot};

/// The reference, except where it is told to misbehave.
#[derive(Clone, Default)]
struct Liar {
    inner: ReferenceBackend,
    /// Queries are answered with what was found last.
    replays: Arc<AtomicBool>,
    last: Arc<Mutex<Vec<Vec<ScoredPayload>>>>,
    is_down: Arc<AtomicBool>,
    gate: Arc<Gate>,
    hangs: Arc<AtomicBool>,
}

/// Holds writes until it is opened.
#[derive(Default)]
struct Gate {
    is_shut: AtomicBool,
    waits: Notify,
    opens: Notify,
}

impl Gate {
    async fn is_waiting(&self) {
        self.waits.notified().await;
    }

    fn open(&self) {
        self.is_shut.store(false, SeqCst);
        self.opens.notify_one();
    }
}

impl Liar {
    fn hold_writes(&self) -> Arc<Gate> {
        self.gate.is_shut.store(true, SeqCst);
        Arc::clone(&self.gate)
    }

    async fn obey(&self) -> Result<(), BackendError> {
        if self.hangs.load(SeqCst) {
            std::future::pending::<()>().await;
        }
        if self.is_down.load(SeqCst) { Err(BackendError::because("down")) } else { Ok(()) }
    }
}

#[async_trait]
impl VectorBackend for Liar {
    async fn prepare(&self, schema: &Schema) -> Result<(), BackendError> {
        self.inner.prepare(schema).await
    }

    async fn write(&self, scope: &WriteScope<'_>, request: WriteRequest) -> Result<(), BackendError> {
        self.obey().await?;
        if self.gate.is_shut.load(SeqCst) {
            self.gate.waits.notify_one();
            self.gate.opens.notified().await;
        }
        self.inner.write(scope, request).await
    }

    async fn query(
        &self,
        scope: &VectorScope<'_>,
        requests: &[QueryRequest],
    ) -> Result<Vec<Vec<ScoredPayload>>, BackendError> {
        self.obey().await?;
        if self.replays.load(SeqCst) {
            return Ok(self.last.lock().unwrap().clone());
        }
        let found = self.inner.query(scope, requests).await?;
        self.last.lock().unwrap().clone_from(&found);
        Ok(found)
    }

    async fn facet(
        &self,
        scope: &VectorScope<'_>,
        request: FacetRequest,
    ) -> Result<Vec<(FilterValue, u64)>, BackendError> {
        self.inner.facet(scope, request).await
    }

    async fn scroll(
        &self,
        scope: &VectorScope<'_>,
        request: ScrollRequest,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        self.inner.scroll(scope, request).await
    }

    async fn retrieve(
        &self,
        scope: &VectorScope<'_>,
        keys: Vec<PointKey>,
        vectors: bool,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        self.inner.retrieve(scope, keys, vectors).await
    }

    async fn count(&self, scope: &VectorScope<'_>, request: CountRequest) -> Result<u64, BackendError> {
        self.inner.count(scope, request).await
    }

    async fn vacate(&self, scope: &WriteScope<'_>) -> Result<(), BackendError> {
        self.inner.vacate(scope).await
    }

    async fn drop_partition(&self, scope: &DropScope<'_>) -> Result<(), BackendError> {
        self.inner.drop_partition(scope).await
    }

    async fn verify_dropped(&self, scope: &DropScope<'_>) -> Result<StoreVerdict, BackendError> {
        self.inner.verify_dropped(scope).await
    }
}

async fn world() -> (World, Liar) {
    let liar = Liar::default();
    (World::over(MemoryBackend::new(), liar.clone()).await, liar)
}

#[tokio::test]
async fn an_index_that_forgets_the_namespace_finds_nothing_of_another() {
    let (world, liar) = world().await;
    let alice = world.of_user("acme", "alice", &["editor"]).await;
    let bob = world.of_user("acme", "bob", &["editor"]).await;
    let private = |text| SemanticParts { visibility: Visibility::Subject, ..asks(text) };
    fill(&alice, &private("q1"), "alice's").await;
    assert_eq!(hit(&alice, &private("q2")).await.as_deref(), Some("alice's"), "positive control");
    liar.replays.store(true, SeqCst);
    for parts in [private("q1"), private("q2"), asks("q1"), asks("q2")] {
        assert_eq!(hit(&bob, &parts).await, None);
    }
    assert_eq!(hit(&alice, &private("q3")).await.as_deref(), Some("alice's"), "her own namespace goes on");
    liar.replays.store(false, SeqCst);
    assert_eq!(hit(&alice, &private("q4")).await.as_deref(), Some("alice's"), "nobody cleared her question up");
}

/// Somebody who writes to the index puts one user's question among another's, or a tenant's among another's.
#[tokio::test]
async fn a_forged_question_names_no_answer() {
    let (world, liar) = world().await;
    let alice = world.of_user("acme", "alice", &["editor"]).await;
    let bob = world.of_user("acme", "bob", &["editor"]).await;
    let globex = world.of_user("globex", "bob", &["editor"]).await;
    let private = |text| SemanticParts { visibility: Visibility::Subject, ..asks(text) };
    let key = |name| PayloadKey::parse(name).unwrap();
    let schema = Schema::dense(3).unwrap().index(key("question_namespace"), IndexKind::Keyword);
    let schema = schema.index(key("question_expires"), IndexKind::Float);
    let index = VectorStore::aside(world.tenants.realm(), StoreName::new("intruder"), liar.inner.clone(), schema);
    let of = async |tenant: &str| index.scoped(&world.tenants.context(tenant).await).unwrap();
    let all = async |tenant: &str| of(tenant).await.scroll(&Scroll::new(), None).await.unwrap().into_points();
    fill(&alice, &private("q1"), "alice's").await;
    let alice_s = all("acme").await.remove(0);
    for (victim, tenant) in [(&bob, "acme"), (&globex, "globex")] {
        let elsewhere = slot(victim, &private("q9"), &[0.0, 1.0, 0.0]).await;
        elsewhere.put(&"own".to_owned()).await.unwrap();
        let own = all(tenant).await.into_iter().find(|point| point.id() != alice_s.id()).unwrap();
        let forged = Point::new(alice_s.id().clone(), own.payload().clone()).unwrap();
        let vector = DenseVector::new(SAME.to_vec()).unwrap();
        of(tenant).await.upsert(vec![forged.with(VectorName::dense(), vector)]).await.unwrap();
        let stands = all(tenant).await;
        let is_forged = |point: &FoundPoint| point.id() == alice_s.id() && point.payload() == own.payload();
        assert!(stands.iter().any(is_forged), "positive control: it is there");
        assert_eq!(hit(victim, &private("q2")).await, None, "{tenant}");
    }
    assert_eq!(hit(&alice, &private("q1")).await.as_deref(), Some("alice's"));
}

#[tokio::test]
async fn an_index_that_answers_with_another_tenants_question_is_not_believed() {
    let (world, liar) = world().await;
    let (acme, globex) = (world.of("acme").await, world.of("globex").await);
    fill(&acme, &asks("q1"), "acme's").await;
    slot(&globex, &asks("q1"), &[0.0, 1.0, 0.0]).await.put(&"globex's".to_owned()).await.unwrap();
    assert_eq!(hit(&acme, &asks("q2")).await.as_deref(), Some("acme's"));
    liar.replays.store(true, SeqCst);
    let seen = globex.lookup(&asks("q2"), &SAME).await.unwrap();
    assert!(matches!(seen, Lookup::Bypass(Bypass::Backend)), "{seen:?}");
    let breaches = world.tenants.denied_rules().await;
    assert!(breaches.iter().any(|rule| rule == "store.breach"), "{breaches:?}");
    assert_eq!(hit(&acme, &asks("q2")).await.as_deref(), Some("acme's"), "positive control");
}

#[tokio::test]
async fn an_index_that_answers_with_a_question_of_another_moment_finds_no_answer() {
    let (world, liar) = world().await;
    let acme = world.of("acme").await;
    fill(&acme, &asks("q1"), "old").await;
    assert_eq!(hit(&acme, &asks("q2")).await.as_deref(), Some("old"));
    liar.replays.store(true, SeqCst);
    world.caches.scoped(&world.tenants.context("acme").await).unwrap().flush().await.unwrap();
    assert_eq!(hit(&acme, &asks("q2")).await, None, "flushed");
    let write = crate::begin_write(&world.tenants, &world.tenants.context("acme").await).await;
    write.settle().await.unwrap();
    assert_eq!(hit(&acme, &asks("q2")).await, None, "of older documents");
}

#[tokio::test]
async fn without_the_index_the_cache_stands_aside_and_can_be_removed_from() {
    let (world, liar) = world().await;
    let acme = world.of("acme").await;
    fill(&acme, &asks("q1"), "kept").await;
    let place = slot(&acme, &SemanticParts { endpoint: "http://b".to_owned(), ..asks("q1") }, &SAME).await;
    liar.is_down.store(true, SeqCst);
    let seen = acme.lookup(&asks("q2"), &SAME).await.unwrap();
    assert!(matches!(seen, Lookup::Bypass(Bypass::Backend)), "{seen:?}");
    assert_eq!(place.put(&"kept".to_owned()).await.unwrap(), Put::Skipped(Bypass::Backend));
    assert_eq!(hit(&acme, &asks("q1")).await.as_deref(), Some("kept"), "this very question needs no index");
    acme.invalidate(&asks("q2")).await.unwrap();
    liar.is_down.store(false, SeqCst);
    assert_eq!(hit(&acme, &asks("q2")).await, None, "nothing is found by meaning");
    assert!(world.caches.stats().of(Layer::Semantic).bypasses >= 1);
}

/// The answer is in, its question on the way: an invalidation in between is not undone by it.
#[tokio::test]
async fn a_question_that_comes_late_is_not_found_after_an_invalidation() {
    let (world, liar) = world().await;
    let acme = world.of("acme").await;
    fill(&acme, &asks("q0"), "the era has begun").await;
    let place = slot(&acme.clone().at_least(similarity(1.0)), &asks("q1"), &[0.8, 0.0, 0.6]).await;
    let gate = liar.hold_writes();
    let putting = tokio::spawn(async move { place.put(&"from before".to_owned()).await });
    gate.is_waiting().await;
    acme.invalidate(&asks("q2")).await.unwrap();
    gate.open();
    assert_eq!(putting.await.unwrap().unwrap(), Put::Stored);
    assert_eq!(hit_by(&acme, &asks("q2"), &[0.8, 0.0, 0.6]).await, None);
}

/// An index that says of every question that it is alike.
#[tokio::test]
async fn likeness_is_reckoned_here() {
    let (world, liar) = world().await;
    let acme = world.of("acme").await;
    fill(&acme, &asks("q1"), "of q1").await;
    assert_eq!(hit(&acme, &asks("q2")).await.as_deref(), Some("of q1"), "positive control");
    liar.replays.store(true, SeqCst);
    for other in [[0.0, 1.0, 0.0], [-0.6, 0.0, -0.8], [0.6, 0.5, 0.0]] {
        assert_eq!(hit_by(&acme, &asks("q3"), &other).await, None, "{other:?}");
    }
    assert_eq!(hit(&acme, &asks("q2")).await.as_deref(), Some("of q1"));
}

#[tokio::test(start_paused = true)]
async fn an_index_that_does_not_answer_is_not_waited_for() {
    let (world, liar) = world().await;
    let acme = world.of("acme").await;
    fill(&acme, &asks("q0"), "the era has begun").await;
    liar.hangs.store(true, SeqCst);
    let seen = acme.lookup(&asks("q1"), &SAME).await.unwrap();
    assert!(matches!(seen, Lookup::Bypass(Bypass::Backend)), "{seen:?}");
}
