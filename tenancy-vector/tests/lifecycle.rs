//! Who is let in, and what a write does to the version of the tenant's documents.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]

#[expect(dead_code, reason = "the cases are for back ends")]
mod cases;
#[path = "cases/fake.rs"]
mod fake;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use fake::{Fake, Hooks};
use tenancy_core::{
    CorpusVersion, Credential, Denial, Gate, MemoryCorpusVersions, Outcome, Reach, Realm, StoreName, StoreVerdict,
    TenantContext, TenantId,
};
use tenancy_testkit::TestTenants;
use tenancy_vector::conformance::{self, ReferenceBackend};
use tenancy_vector::{
    BackendError, Change, DenseVector, ExternalId, GroupBy, PayloadKey, Point, Scroll, Select, TenantVectors,
    VectorError, VectorName, VectorStore, Write, WriteRequest,
};
use tokio::sync::Semaphore;

/// Stops before each write until it is let go, and then may fail.
#[derive(Clone)]
struct Held {
    reached: Arc<Semaphore>,
    go: Arc<Semaphore>,
    fails: bool,
    never_counts: bool,
}

impl Held {
    fn new(fails: bool) -> Self {
        let semaphore = || Arc::new(Semaphore::new(0));
        Self { reached: semaphore(), go: semaphore(), fails, never_counts: false }
    }
}

#[async_trait]
impl Hooks for Held {
    async fn before_write(&self, _request: &WriteRequest) -> Result<bool, BackendError> {
        self.reached.add_permits(1);
        self.go.acquire().await.unwrap().forget();
        if self.fails { Err(BackendError::because("no")) } else { Ok(true) }
    }

    async fn before_read(&self, name: &'static str) -> Result<(), BackendError> {
        if self.never_counts && name == "count" {
            // A read that never comes back.
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

async fn version(realm: &Realm, context: &TenantContext) -> Option<CorpusVersion> {
    let pass = Gate::new(realm, StoreName::new("reader")).scoped(context).unwrap();
    let entered = pass.enter("read").await.unwrap();
    let version = entered.corpus_version().await.unwrap();
    entered.done();
    version
}

#[tokio::test]
async fn every_call_of_another_realms_context_is_refused() {
    let (ours, theirs) = (TestTenants::new().await, TestTenants::new().await);
    let store = VectorStore::new(ours.realm(), ReferenceBackend::new(), cases::schema());
    let refused = store.scoped(&theirs.context("acme").await);
    assert!(matches!(refused, Err(VectorError::Denied(Denial::ForeignRealm))));
    assert!(ours.denied_rules().await.contains(&"scope.foreign_realm".to_owned()));
    assert!(theirs.denied_rules().await.is_empty(), "their log is not ours to write");
    assert!(store.scoped(&ours.context("acme").await).is_ok(), "positive control");
}

#[tokio::test]
async fn one_back_end_under_two_realms_keeps_them_apart() {
    let (ours, theirs) = (TestTenants::new().await, TestTenants::new().await);
    let backend = ReferenceBackend::new();
    let of = |tenants: &TestTenants| VectorStore::new(tenants.realm(), backend.clone(), cases::schema());
    let mine = cases::of(&ours, &of(&ours), "acme").await;
    mine.upsert(vec![cases::point("A1", 0.5, "a")]).await.unwrap();
    let others = cases::of(&theirs, &of(&theirs), "acme").await;
    assert_eq!((mine.count(None).await.unwrap(), others.count(None).await.unwrap()), (1, 0));
}

async fn every_call(mine: &TenantVectors) -> [Option<Denial>; 11] {
    fn denial<T>(result: Result<T, VectorError>) -> Option<Denial> {
        match result {
            Err(VectorError::Denied(denial)) => Some(denial),
            Ok(_) | Err(_) => None,
        }
    }
    let owner = PayloadKey::parse("owner").unwrap();
    [
        denial(mine.upsert(vec![cases::point("A1", 0.5, "a")]).await),
        denial(mine.query(&cases::near()).await),
        denial(mine.get(&[cases::id("A1")]).await),
        denial(mine.delete(&[cases::id("A9")]).await),
        denial(mine.count(None).await),
        denial(mine.query_batch(&[cases::near()]).await),
        denial(mine.query_groups(&cases::near(), &GroupBy::new(owner.clone(), 1, 1).unwrap()).await),
        denial(mine.scroll(&Scroll::new(), None).await),
        denial(mine.facet(&owner, None, 1).await),
        denial(mine.matrix(&VectorName::dense(), None, 1, 1).await),
        denial(mine.change(vec![Change::Delete(Select::All)]).await),
    ]
}

#[tokio::test]
async fn a_handle_stops_with_its_tenant_and_its_deadline() {
    for (why, denial, rule) in [
        ("suspended", Denial::TenantSuspended, "tenant.suspended"),
        ("erased", Denial::TenantErased, "tenant.erased"),
        ("late", Denial::DeadlinePassed, "deadline.passed"),
    ] {
        let tenants = TestTenants::builder().clock().build().await;
        let store = VectorStore::new(tenants.realm(), ReferenceBackend::new(), cases::schema());
        let context = tenants.context("acme").await;
        let mine = store.scoped(&context).unwrap();
        assert_eq!(every_call(&mine).await, [None; 11], "positive control: {why}");
        match why {
            "suspended" => tenants.suspend("acme"),
            "erased" => tenants.erase("acme"),
            _ => tenants.clock().advance(context.remaining()),
        }
        assert_eq!(every_call(&mine).await, [Some(denial); 11], "{why}");
        assert!(matches!(store.scoped(&context), Err(VectorError::Denied(d)) if d == denial), "{why}");
        let records = tenants.audit().await;
        let count: u64 = records.iter().filter(|r| r.rule() == Some(rule)).map(|r| r.count()).sum();
        assert_eq!(count, 12, "{why}");
    }
}

#[tokio::test]
async fn documents_have_no_version_during_a_write_and_a_new_one_after_it() {
    for fails in [false, true] {
        let tenants =
            TestTenants::builder().build_with(|ready| ready.corpus_versions(MemoryCorpusVersions::new())).await;
        let backend = Held::new(fails);
        let store = VectorStore::new(tenants.realm(), Fake::new(backend.clone()), cases::schema());
        let (context, other) = (tenants.context("acme").await, tenants.context("globex").await);
        let mine = store.scoped(&context).unwrap();
        let neighbour = version(tenants.realm(), &other).await;
        let mut last = version(tenants.realm(), &context).await;
        assert!(last.is_some());
        for write in ["upsert", "delete"] {
            let writer = mine.clone();
            let task = tokio::spawn(async move {
                if write == "upsert" {
                    writer.upsert(vec![cases::point("A1", 0.5, "a")]).await
                } else {
                    writer.delete(&[cases::id("A1")]).await.map(drop)
                }
            });
            backend.reached.acquire().await.unwrap().forget();
            assert_eq!(version(tenants.realm(), &context).await, None, "during {write}");
            backend.go.add_permits(1);
            assert_eq!(task.await.unwrap().is_err(), fails, "{write}");
            let next = version(tenants.realm(), &context).await;
            assert!(next.is_some() && next != last, "after {write}, failed: {fails}");
            last = next;
        }
        assert_eq!(version(tenants.realm(), &other).await, neighbour, "the neighbour's documents did not change");
        let ended = if fails { Outcome::Failed } else { Outcome::Changed };
        let records = tenants.audit().await;
        for action in ["vectors.upsert", "vectors.delete"] {
            let singly: Vec<_> =
                records.iter().filter(|r| r.action() == action && r.outcome() == ended).map(|r| r.count()).collect();
            assert_eq!(singly, [1], "{action} ends as one record, failed: {fails}");
        }
    }
}

#[tokio::test]
async fn a_write_goes_on_when_its_caller_is_dropped() {
    let tenants = TestTenants::new().await;
    let backend = Held::new(false);
    let store = VectorStore::new(tenants.realm(), Fake::new(backend.clone()), cases::schema());
    let context = tenants.context("acme").await;
    let mine = store.scoped(&context).unwrap();
    let before = version(tenants.realm(), &context).await;
    let caller = tokio::spawn({
        let mine = mine.clone();
        async move { mine.upsert(vec![cases::point("A1", 0.5, "a")]).await }
    });
    backend.reached.acquire().await.unwrap().forget();
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    backend.go.add_permits(1);
    let settled = tokio::time::timeout(Duration::from_secs(5), async {
        loop {
            match version(tenants.realm(), &context).await {
                Some(version) => break version,
                None => tokio::task::yield_now().await,
            }
        }
    });
    assert_ne!(Some(settled.await.unwrap()), before);
    assert_eq!(mine.count(None).await.unwrap(), 1);
}

#[tokio::test]
async fn a_read_that_hangs_ends_at_the_deadline() {
    let tenants = TestTenants::builder().build_with(|ready| ready.max_request(Duration::from_millis(300))).await;
    let store =
        VectorStore::new(tenants.realm(), Fake::new(Held { never_counts: true, ..Held::new(true) }), cases::schema());
    let mine = store.scoped(&tenants.context("acme").await).unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(10), mine.count(None)).await.unwrap();
    assert!(matches!(ended, Err(VectorError::Denied(Denial::DeadlinePassed))));
    assert_eq!(cases::denied(&tenants, "acme", "deadline.passed").await, 1);
}

#[tokio::test]
async fn a_writer_that_passed_the_fence_before_the_erasure_writes_nothing() {
    let tenants = TestTenants::new().await;
    let backend = Held::new(false);
    let store = VectorStore::new(tenants.realm(), Fake::new(backend.clone()), cases::schema());
    let mine = cases::of(&tenants, &store, "acme").await;
    let theirs = cases::of(&tenants, &store, "globex").await;
    backend.go.add_permits(2);
    mine.upsert(vec![cases::point("A1", 0.5, "a")]).await.unwrap();
    theirs.upsert(vec![cases::point("B1", 0.5, "b")]).await.unwrap();
    backend.reached.acquire_many(2).await.unwrap().forget();

    let late = tokio::spawn({
        let mine = mine.clone();
        async move { mine.upsert(vec![cases::point("A2", 0.5, "a")]).await }
    });
    backend.reached.acquire().await.unwrap().forget();
    let life = tenants.life("acme");
    tenants.erase("acme");
    let credential = Credential::bearer(tenants.operator_token());
    let acme = Reach::One(TenantId::parse("acme").unwrap());
    let operators = tenants.realm().operators();
    let grant = operators.open(&credential, "offboarding", "CASE-1", acme, Duration::from_secs(60)).await.unwrap();
    assert_eq!(tenants.realm().erase_store(&grant, life, &store).await, Ok(StoreVerdict::Verified));
    backend.go.add_permits(1);
    assert!(matches!(late.await.unwrap(), Err(VectorError::Denied(Denial::TenantErased))), "past the fence, too late");
    let later = mine.upsert(vec![cases::point("A3", 0.5, "a")]).await;
    assert!(matches!(later, Err(VectorError::Denied(Denial::TenantErased))), "refused by the fence");
    assert_eq!(tenants.realm().erase_store(&grant, life, &store).await, Ok(StoreVerdict::Verified), "still gone");
    assert_eq!(theirs.count(None).await.unwrap(), 1);
}

#[tokio::test]
async fn the_conformance_suite_tells_a_back_end_that_forgot_a_rule() {
    let tenants = TestTenants::new().await;
    let (one, two) = (tenants.context("acme").await, tenants.context("globex").await);
    let broken = conformance::run(tenants.realm(), Fake::new(Forgetful), &one, &two).await;
    assert!(matches!(broken, Err(conformance::Nonconformance::Broken { check: "ranking", .. })), "{broken:?}");
    conformance::run(tenants.realm(), ReferenceBackend::new(), &one, &two).await.unwrap();
}

/// A suite that was called with one tenant twice, or a second time with the same, says so and not that the back end is wrong.
#[tokio::test]
async fn the_conformance_suite_tells_that_it_was_called_wrongly() {
    let tenants = TestTenants::new().await;
    let (one, two) = (tenants.context("acme").await, tenants.context("globex").await);
    let backend = Arc::new(ReferenceBackend::new());
    let once = conformance::run(tenants.realm(), Arc::clone(&backend), &one, &one).await.unwrap_err();
    assert_eq!(once.to_string(), "prepare: the two contexts are of two tenants (asked: nothing yet)");
    let store = VectorStore::new(tenants.realm(), Arc::clone(&backend), conformance::schema().unwrap());
    let left = Point::new(ExternalId::parse("left").unwrap(), serde_json::Map::new()).unwrap();
    let left = left.with(VectorName::dense(), DenseVector::new(vec![1.0; 8]).unwrap());
    store.scoped(&one).unwrap().upsert(vec![left]).await.unwrap();
    let again = conformance::run(tenants.realm(), backend, &one, &two).await.unwrap_err().to_string();
    assert!(again.contains("take tenants that are new to it") && again.contains("1 instead of 0"), "{again}");
}

/// Takes deletions for done.
struct Forgetful;

#[async_trait]
impl Hooks for Forgetful {
    async fn before_write(&self, request: &WriteRequest) -> Result<bool, BackendError> {
        Ok(!request.writes().iter().any(|write| matches!(write, Write::Delete(_))))
    }
}
