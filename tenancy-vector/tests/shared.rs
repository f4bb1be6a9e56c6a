//! Corpora that all tenants read: who may write them, who may read them, and what a change of them changes.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]

#[expect(dead_code, reason = "the other cases have tests of their own")]
mod cases;
#[path = "cases/shared.rs"]
mod corpora;
#[path = "cases/fake.rs"]
mod fake;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use corpora::{grant, name, publish};
use fake::{Fake, Hooks};
use tenancy_core::permission::ReadAudit;
use tenancy_core::{
    CorpusError, CorpusScope, CorpusVersion, CorpusVersions, Credential, Denial, Gate, Life, MemoryCorpusVersions,
    Outcome, Reach, Region, StoreName, StoreVerdict, TenantContext, TenantId, TenantRecord, WriteId,
};
use tenancy_testkit::TestTenants;
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::{
    BackendError, Change, Fusion, Origin, SharedVectors, VectorBackend, VectorError, VectorStore, WriteRequest,
};
use tokio::sync::Semaphore;

fn corpus(tenants: &TestTenants, text: &str, backend: impl VectorBackend) -> SharedVectors {
    SharedVectors::new(tenants.realm(), &name(text), backend, cases::schema())
}

fn stores(tenants: &TestTenants) -> (VectorStore, SharedVectors) {
    let own = VectorStore::new(tenants.realm(), ReferenceBackend::new(), cases::schema());
    (own, corpus(tenants, "handbook", ReferenceBackend::new()))
}

#[tokio::test]
async fn every_read_is_of_the_corpus() {
    let tenants = TestTenants::new().await;
    let (own, shared) = stores(&tenants);
    corpora::every_read_is_of_the_corpus(&tenants, &own, &shared).await;
}

#[tokio::test]
async fn one_id_is_two_points() {
    let tenants = TestTenants::new().await;
    let (own, shared) = stores(&tenants);
    corpora::one_id_is_two_points(&tenants, &own, &shared).await;
}

#[tokio::test]
async fn an_erased_corpus_takes_nothing_along() {
    let tenants = TestTenants::new().await;
    let backend = Arc::new(ReferenceBackend::new());
    let own = VectorStore::new(tenants.realm(), Arc::clone(&backend), cases::schema());
    let corpora = ["gazette", "almanac"].map(|name| corpus(&tenants, name, Arc::clone(&backend)));
    corpora::an_erased_corpus_takes_nothing_along(&tenants, &own, &corpora[0], &corpora[1]).await;
}

#[tokio::test]
async fn the_plain_back_end_conforms_for_corpora() {
    corpora::it_conforms(&TestTenants::new().await, ReferenceBackend::new()).await;
}

#[tokio::test]
async fn tenants_and_corpora_on_one_back_end_stay_apart() {
    let (ours, theirs) = (TestTenants::new().await, TestTenants::new().await);
    let backend = Arc::new(ReferenceBackend::new());
    let own = VectorStore::new(ours.realm(), Arc::clone(&backend), cases::schema());
    let mine = cases::of(&ours, &own, "acme").await;
    mine.upsert(vec![cases::point("doc-1", 0.9, "acme")]).await.unwrap();
    let all = [
        (&ours, corpus(&ours, "handbook", Arc::clone(&backend)), "one"),
        (&ours, corpus(&ours, "statutes", Arc::clone(&backend)), "another name"),
        (&theirs, corpus(&theirs, "handbook", Arc::clone(&backend)), "the same name in another realm"),
    ];
    for (tenants, shared, what) in &all {
        publish(tenants, shared, vec![cases::point("doc-1", 0.5, what)]).await;
    }
    for (tenants, shared, what) in &all {
        let corpus = shared.scoped(&tenants.context("acme").await).unwrap();
        let hits = corpus.query(&cases::near()).await.unwrap();
        let found: Vec<_> = hits.iter().map(|hit| hit.payload()["owner"].as_str().unwrap()).collect();
        assert_eq!(found, [*what]);
    }
    assert_eq!(mine.query(&cases::near()).await.unwrap()[0].origin(), &Origin::Own);
    assert_eq!(mine.count(None).await.unwrap(), 1);
}

#[tokio::test]
async fn a_corpus_is_written_with_a_grant_for_it_alone() {
    let (tenants, others) = (TestTenants::builder().clock().build().await, TestTenants::new().await);
    let (_, shared) = stores(&tenants);
    let for_it = || Reach::Corpus(name("handbook"));
    let revoked = grant(&tenants, for_it()).await;
    revoked.revoke();
    let cases = [
        ("for a tenant", grant(&tenants, Reach::One(TenantId::parse("acme").unwrap())).await, "grant.out_of_reach"),
        ("for reports over all tenants", grant(&tenants, Reach::Every).await, "grant.out_of_reach"),
        ("for another corpus", grant(&tenants, Reach::Corpus(name("statutes"))).await, "grant.out_of_reach"),
        ("for the corpus of another realm", grant(&others, for_it()).await, "scope.foreign_realm"),
        ("that was revoked", revoked, "grant.revoked"),
    ];
    for (what, grant, rule) in cases {
        let refused = shared.publish(&grant).await.unwrap_err();
        assert_eq!(Denial::of(&refused).unwrap().rule(), rule, "a grant {what}");
        let log = if what.contains("another realm") { &others } else { &tenants };
        assert!(log.denied_rules().await.iter().any(|r| r == rule), "a grant {what}: no record");
    }
    let good = grant(&tenants, for_it()).await;
    let writer = shared.publish(&good).await.unwrap();
    writer.upsert(vec![cases::point("S1", 0.5, "everybody")]).await.expect("the positive control");
    tenants.clock().advance(Duration::from_secs(61));
    let late = writer.change(vec![Change::Upsert(vec![cases::point("S2", 0.5, "late")])]).await.unwrap_err();
    assert_eq!(Denial::of(&late).unwrap().rule(), "grant.expired");
    let corpus = shared.scoped(&tenants.context("acme").await).unwrap();
    assert_eq!(corpus.count(None).await.unwrap(), 1, "nothing was written late");
}

#[tokio::test]
async fn a_grant_for_a_corpus_reaches_no_tenant() {
    let tenants = TestTenants::new().await;
    let grant = grant(&tenants, Reach::Corpus(name("handbook"))).await;
    let gate = Gate::new(tenants.realm(), StoreName::new("postgres"));
    for life in [None, Some(tenants.life("acme"))] {
        assert_eq!(grant.exercise(&gate, life, "report").await.unwrap_err().rule(), "grant.out_of_reach");
    }
    assert_eq!(grant.cross(&gate, "report").await.unwrap_err().rule(), "grant.out_of_reach");
}

/// Versions that stop before an announcement until they are let go.
#[derive(Clone)]
struct HeldVersions {
    inner: Arc<MemoryCorpusVersions>,
    reached: Arc<Semaphore>,
    go: Arc<Semaphore>,
}

#[async_trait]
impl CorpusVersions for HeldVersions {
    async fn current(&self, scope: CorpusScope<'_>) -> Result<Option<CorpusVersion>, CorpusError> {
        self.inner.current(scope).await
    }

    async fn begin(&self, scope: CorpusScope<'_>, write: WriteId) -> Result<(), CorpusError> {
        self.reached.add_permits(1);
        self.go.acquire().await.unwrap().forget();
        self.inner.begin(scope, write).await
    }

    async fn settle(&self, scope: CorpusScope<'_>, write: WriteId) -> Result<CorpusVersion, CorpusError> {
        self.inner.settle(scope, write).await
    }
}

#[tokio::test]
async fn a_grant_that_ends_while_a_write_is_announced_writes_nothing() {
    let semaphore = || Arc::new(Semaphore::new(0));
    let held = HeldVersions { inner: Arc::default(), reached: semaphore(), go: semaphore() };
    let theirs = held.clone();
    let tenants = TestTenants::builder().build_with(|ready| ready.corpus_versions(theirs)).await;
    let (_, shared) = stores(&tenants);
    let grant = Arc::new(grant(&tenants, Reach::Corpus(name("handbook"))).await);
    let start = || {
        let (grant, shared) = (Arc::clone(&grant), shared.clone());
        tokio::spawn(
            async move { shared.publish(&grant).await?.upsert(vec![cases::point("S1", 0.5, "everybody")]).await },
        )
    };
    let reached =
        async || tokio::time::timeout(Duration::from_secs(5), held.reached.acquire()).await.unwrap().unwrap().forget();
    let dropped = start();
    reached().await;
    dropped.abort();
    assert!(dropped.await.unwrap_err().is_cancelled());
    let late = start();
    reached().await;
    grant.revoke();
    held.go.add_permits(1);
    let refused = late.await.unwrap().unwrap_err();
    assert_eq!(Denial::of(&refused).unwrap().rule(), "grant.revoked");
    let corpus = shared.scoped(&tenants.context("acme").await).unwrap();
    assert_eq!(corpus.count(None).await.unwrap(), 0);
    let outcomes: Vec<_> =
        tenants.audit().await.iter().filter(|r| r.action() == "corpus.change").map(|r| r.outcome()).collect();
    assert_eq!(outcomes, [Outcome::Cancelled, Outcome::Denied], "neither is without a trace");
    assert!(versions(&tenants, &shared).await.0.is_some(), "what was announced is settled");
}

#[tokio::test]
async fn no_tenant_is_given_the_mark_of_a_corpus_for_a_life() {
    let tenants = TestTenants::new().await;
    let (_, shared) = stores(&tenants);
    let born = SystemTime::now() - Duration::from_secs(60);
    for (tenant, life, let_in) in [("umbrella", shared.corpus().life(), false), ("initech", Life::random(), true)] {
        let life = Life::parse(&life.uuid().to_string()).unwrap();
        let record = TenantRecord::new(TenantId::parse(tenant).unwrap(), life, born);
        tenants.directory().add(record.claim(tenants.issuer().issuer(), tenant)).unwrap();
        let context = tenants.realm().authenticate(&Credential::bearer(tenants.token(tenant))).await;
        assert_eq!(context.is_ok(), let_in, "{tenant}: {context:?}");
        let operator = Credential::bearer(tenants.operator_token());
        let (one, minute) = (Reach::One(TenantId::parse(tenant).unwrap()), Duration::from_secs(60));
        let grant = tenants.realm().operators().open(&operator, "offboarding of it", "CASE-1", one, minute).await;
        assert_eq!(grant.is_ok(), let_in, "{tenant}: {grant:?}");
    }
}

#[tokio::test]
async fn a_corpus_is_for_its_region_and_its_realm() {
    let (tenants, others) = (TestTenants::new().await, TestTenants::new().await);
    let (own, shared) = stores(&tenants);
    let (_, foreign) = stores(&others);
    let abroad = shared.clone().in_region(Region::parse("abroad").unwrap());
    let context = tenants.context("acme").await;
    let mine = own.scoped(&context).unwrap();
    for (what, corpus, denial) in
        [("another region", &abroad, Denial::WrongRegion), ("another realm", &foreign, Denial::ForeignRealm)]
    {
        let refused = corpus.scoped(&context);
        assert!(matches!(refused, Err(VectorError::Denied(found)) if found == denial), "{what}: {refused:?}");
        let refused = mine.query_with(&cases::near(), &[(corpus, &cases::near())], &Fusion::ranks()).await;
        assert!(matches!(refused, Err(VectorError::Denied(found)) if found == denial), "{what}: {refused:?}");
    }
    assert!(mine.query_with(&cases::near(), &[(&shared, &cases::near())], &Fusion::ranks()).await.is_ok());
    let grant = grant(&tenants, Reach::Corpus(name("handbook"))).await;
    let writer = shared.publish(&grant).await.unwrap();
    tenants.realm().close().await.unwrap();
    let closed = writer.upsert(vec![cases::point("S1", 0.5, "late")]).await.unwrap_err();
    assert!(matches!(closed, VectorError::Denied(Denial::RealmClosed)), "{closed}");
}

#[tokio::test]
async fn every_tenant_lists_who_changed_what_it_reads() {
    let tenants = TestTenants::new().await;
    let (_, shared) = stores(&tenants);
    publish(&tenants, &shared, vec![cases::point("S1", 0.5, "everybody")]).await;
    tenants.realm().flush().await.unwrap();
    for tenant in ["acme", "globex"] {
        let context = tenants.context(tenant).await;
        let proof: tenancy_core::Authorized<ReadAudit> = context.authorize().unwrap();
        let listed = context.audit(&proof).await.unwrap();
        for (action, outcome) in
            [("grant.open", Outcome::Done), ("corpus.publish", Outcome::Done), ("corpus.change", Outcome::Changed)]
        {
            let found = listed.iter().find(|r| r.action() == action && r.outcome() == outcome);
            let record = found.unwrap_or_else(|| panic!("{tenant} does not see {action}"));
            let reason = record.reason().unwrap();
            assert!(reason.starts_with("corpus handbook: ") && reason.ends_with("[CASE-7]"), "{action}: {reason}");
        }
    }
}

#[tokio::test]
async fn who_is_not_served_reads_no_corpus() {
    let tenants = TestTenants::builder().clock().build().await;
    let (own, shared) = stores(&tenants);
    publish(&tenants, &shared, vec![cases::point("S1", 0.5, "everybody")]).await;
    let (acme, globex) = (tenants.context("acme").await, tenants.context("globex").await);
    let handles = [shared.scoped(&acme).unwrap(), shared.scoped(&globex).unwrap()];
    tenants.suspend("acme");
    tenants.erase("globex");
    tenants.clock().advance(Duration::from_secs(6));
    for (handle, denial) in handles.iter().zip([Denial::TenantSuspended, Denial::TenantErased]) {
        let refused = handle.query(&cases::near()).await.unwrap_err();
        assert!(matches!(refused, VectorError::Denied(found) if found == denial), "{refused}");
    }
    drop(own);
    let others = TestTenants::new().await;
    let foreign = shared.scoped(&others.context("acme").await);
    assert!(matches!(foreign, Err(VectorError::Denied(Denial::ForeignRealm))));
}

async fn versions(tenants: &TestTenants, shared: &SharedVectors) -> (Option<CorpusVersion>, Option<CorpusVersion>) {
    let context: TenantContext = tenants.context("acme").await;
    let pass = Gate::new(tenants.realm(), StoreName::new("reader")).scoped(&context).unwrap();
    let entered = pass.enter("read").await.unwrap();
    let found = (entered.version_of(shared.corpus()).await.unwrap(), entered.corpus_version().await.unwrap());
    entered.done();
    found
}

/// Stops before each write until it is let go, and then may fail.
#[derive(Clone)]
struct Held {
    reached: Arc<Semaphore>,
    go: Arc<Semaphore>,
    fails: bool,
}

#[async_trait]
impl Hooks for Held {
    async fn before_write(&self, _request: &WriteRequest) -> Result<bool, BackendError> {
        self.reached.add_permits(1);
        self.go.acquire().await.unwrap().forget();
        if self.fails { Err(BackendError::because("no")) } else { Ok(true) }
    }
}

#[tokio::test]
async fn a_corpus_has_a_version_of_its_own() {
    for (fails, dropped) in [(false, false), (true, false), (false, true)] {
        let tenants = TestTenants::new().await;
        let semaphore = || Arc::new(Semaphore::new(0));
        let hooks = Held { reached: semaphore(), go: semaphore(), fails };
        let backend = Fake::new(hooks.clone());
        let shared = Arc::new(corpus(&tenants, "handbook", backend));
        let (before, mine) = versions(&tenants, &shared).await;
        assert!(before.is_some() && before != mine);
        let grant = grant(&tenants, Reach::Corpus(name("handbook"))).await;
        let store = Arc::clone(&shared);
        let write = tokio::spawn(async move {
            let writer = store.publish(&grant).await?;
            writer.upsert(vec![cases::point("S1", 0.5, "everybody")]).await
        });
        hooks.reached.acquire().await.unwrap().forget();
        let (during, unchanged) = versions(&tenants, &shared).await;
        assert_eq!((during, unchanged), (None, mine), "no version while it is written, and the tenant keeps its own");
        if dropped {
            write.abort();
        }
        hooks.go.add_permits(1);
        let written = write.await;
        assert_eq!(written.is_err(), dropped);
        let settled = async {
            loop {
                if let (Some(after), _) = versions(&tenants, &shared).await {
                    return after;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let after = tokio::time::timeout(Duration::from_secs(5), settled).await.unwrap();
        assert_ne!(Some(after), before, "failed: {fails}, dropped: {dropped}");
        let stored = shared.scoped(&tenants.context("acme").await).unwrap().count(None).await.unwrap();
        assert_eq!(stored, u64::from(!fails), "a dropped write goes on to its end");
    }
}

/// Finds something left, always.
#[derive(Clone)]
struct Leftovers;

impl Hooks for Leftovers {
    fn verdict(&self, _honest: StoreVerdict) -> StoreVerdict {
        StoreVerdict::failed("something is left")
    }
}

#[tokio::test]
async fn an_erasure_of_a_corpus_that_fails_is_on_record() {
    let tenants = TestTenants::new().await;
    let shared = corpus(&tenants, "handbook", Fake::new(Leftovers));
    let grant = grant(&tenants, Reach::Corpus(name("handbook"))).await;
    let verdict = shared.publish(&grant).await.unwrap().erase().await.unwrap();
    assert_eq!(verdict, StoreVerdict::failed("something is left"));
    let records = tenants.audit().await;
    let erased: Vec<_> = records.iter().filter(|r| r.action() == "corpus.erase").map(|r| r.outcome()).collect();
    assert_eq!(erased, [Outcome::Failed]);
    assert!(versions(&tenants, &shared).await.0.is_some(), "and it is settled");
}

#[tokio::test]
async fn an_erased_tenant_takes_nothing_of_the_corpus_along() {
    let tenants = TestTenants::new().await;
    let backend = Arc::new(ReferenceBackend::new());
    let own = VectorStore::new(tenants.realm(), Arc::clone(&backend), cases::schema());
    let shared = corpus(&tenants, "handbook", backend);
    publish(&tenants, &shared, vec![cases::point("S1", 0.5, "everybody")]).await;
    cases::of(&tenants, &own, "acme").await.upsert(vec![cases::point("A1", 0.5, "acme")]).await.unwrap();
    let life = tenants.life("acme");
    tenants.erase("acme");
    let grant = grant(&tenants, Reach::One(TenantId::parse("acme").unwrap())).await;
    let erased = tenants.realm().erase_store(&grant, life, &own).await;
    assert_eq!(erased, Ok(StoreVerdict::Verified));
    let left = shared.scoped(&tenants.context("globex").await).unwrap();
    assert_eq!(left.count(None).await.unwrap(), 1);
}
