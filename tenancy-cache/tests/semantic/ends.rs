//! Invalidation, flush, erasure, and computations.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use tenancy_cache::redis::RedisOptions;
use tenancy_cache::semantic::{SemanticCache, TenantSemantic};
use tenancy_cache::{CacheError, CacheSettings, Caches, MemoryBackend, Put, SemanticParts};
use tenancy_core::{Credential, Eraser, Reach, StoreVerdict, TenantId};
use tenancy_testkit::{TestTenants, ThrowawayRedis};
use tenancy_vector::conformance::ReferenceBackend;

use crate::{SAME, World, asks, fill, hit, similarity, slot};

#[tokio::test(flavor = "multi_thread")]
async fn c6_an_invalidation_removes_the_answer_and_whatever_is_found_by_meaning() {
    for (store, world) in World::all().await {
        let (acme, globex) = (world.of("acme").await, world.of("globex").await);
        let strict = acme.clone().at_least(similarity(0.999_999));
        fill(&globex, &asks("q1"), "globex's").await;
        // Each at another angle.
        for n in 0..20 {
            let angle = 0.02 * n as f32;
            let vector = [0.6 * angle.cos(), angle.sin(), 0.8 * angle.cos()];
            slot(&strict, &asks(&format!("q{n}")), &vector).await.put(&format!("of q{n}")).await.unwrap();
        }
        let elsewhere = SemanticParts { endpoint: "http://other".to_owned(), ..asks("q1") };
        fill(&acme, &elsewhere, "elsewhere").await;
        let before = slot(&acme, &SemanticParts { endpoint: "http://third".to_owned(), ..asks("q") }, &SAME).await;
        assert!(hit(&acme, &asks("another")).await.is_some(), "{store}: positive control");
        acme.invalidate(&asks("another")).await.unwrap();
        assert_eq!(hit(&acme, &asks("another")).await, None, "{store}");
        for n in 0..20 {
            let (own, like_it) = (asks(&format!("q{n}")), asks(&format!("q{n}!")));
            assert_eq!(hit(&acme, &like_it).await, None, "{store}: like q{n}");
            assert_eq!(hit(&acme, &own).await, Some(format!("of q{n}")), "{store}: q{n} itself was not removed");
        }
        acme.invalidate(&asks("q7")).await.unwrap();
        assert_eq!(hit(&acme, &asks("q7")).await, None, "{store}");
        assert_eq!(hit(&acme, &elsewhere).await.as_deref(), Some("elsewhere"), "{store}: another namespace stays");
        assert_eq!(hit(&globex, &asks("q")).await.as_deref(), Some("globex's"), "{store}: another tenant's stays");
        before.put(&"from before".to_owned()).await.unwrap();
        let third = SemanticParts { endpoint: "http://third".to_owned(), ..asks("q") };
        assert_eq!(hit(&acme, &third).await, None, "{store}: what was under way is not kept");
        fill(&acme, &asks("fresh"), "new").await;
        assert_eq!(hit(&acme, &asks("another")).await.as_deref(), Some("new"), "{store}: the layer goes on");
    }
}

/// Another process computes while this one invalidates a question that is alike, and puts its answer afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn c6_an_answer_that_was_under_way_elsewhere_is_not_found_by_meaning() {
    let server = ThrowawayRedis::start().await.unwrap_or_else(|e| panic!("{e}"));
    let (tenants, questions) = (TestTenants::new().await, ReferenceBackend::new());
    let process = || {
        let answers = crate::patient(RedisOptions::new(&server.url()).unwrap());
        let settings = CacheSettings::new().patience(Duration::from_secs(10));
        let caches = Caches::with_settings(tenants.realm(), answers, settings);
        SemanticCache::new(tenants.realm(), &caches, questions.clone(), 3, similarity(0.8)).unwrap()
    };
    let (one, other) = (process(), process());
    let context = tenants.context("acme").await;
    let (here, there): (TenantSemantic<String>, TenantSemantic<String>) =
        (one.scoped(&context).unwrap(), other.scoped(&context).unwrap());
    fill(&there, &asks("q0"), "the era has begun").await;
    there.invalidate(&asks("q0")).await.unwrap();
    let slow = slot(&here, &asks("q1"), &SAME).await;
    there.invalidate(&asks("q2")).await.unwrap();
    assert_eq!(slow.put(&"from before".to_owned()).await.unwrap(), Put::Stored, "this process knows of nothing");
    for mine in [&here, &there] {
        assert_eq!(hit(mine, &asks("q2")).await, None);
        assert_eq!(hit(mine, &asks("q3")).await, None);
    }
    fill(&there, &asks("q4"), "new").await;
    assert_eq!(hit(&here, &asks("q2")).await.as_deref(), Some("new"), "one era for both");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flush_reaches_answers_found_by_meaning() {
    for (store, world) in World::all().await {
        let (acme, globex) = (world.of("acme").await, world.of("globex").await);
        fill(&acme, &asks("q1"), "old").await;
        fill(&globex, &asks("q1"), "globex's").await;
        let late = slot(&acme, &SemanticParts { endpoint: "http://late".to_owned(), ..asks("q1") }, &SAME).await;
        world.caches.scoped(&world.tenants.context("acme").await).unwrap().flush().await.unwrap();
        late.put(&"late".to_owned()).await.unwrap();
        for parts in [asks("q1"), asks("q2"), SemanticParts { endpoint: "http://late".to_owned(), ..asks("q2") }] {
            assert_eq!(hit(&acme, &parts).await, None, "{store}");
        }
        assert_eq!(hit(&globex, &asks("q2")).await.as_deref(), Some("globex's"), "{store}");
        fill(&acme, &asks("q1"), "new").await;
        assert_eq!(hit(&acme, &asks("q2")).await.as_deref(), Some("new"), "{store}");
    }
}

#[tokio::test]
async fn an_erasure_leaves_neither_questions_nor_answers() {
    let world = World::new().await;
    let (acme, globex) = (world.of("acme").await, world.of("globex").await);
    fill(&acme, &asks("q1"), "acme's").await;
    fill(&globex, &asks("q1"), "globex's").await;
    let late = slot(&acme, &SemanticParts { endpoint: "http://late".to_owned(), ..asks("q1") }, &SAME).await;
    let realm = world.tenants.realm();
    let (operator, tenant) = (world.tenants.operator_token(), TenantId::parse("acme").unwrap());
    let reach = Reach::One(tenant);
    let grant = realm
        .operators()
        .open(&Credential::bearer(operator), "offboarding", "case-1", reach, Duration::from_secs(60))
        .await
        .unwrap();
    let life = world.tenants.life("acme");
    world.tenants.erase("acme");
    for eraser in [&world.semantic as &dyn Eraser, &world.caches] {
        let verdict = realm.erase_store(&grant, life, eraser).await.unwrap();
        assert_eq!(verdict, StoreVerdict::Verified, "{:?}", eraser.store());
    }
    assert!(late.put(&"late".to_owned()).await.is_err(), "the fence");
    assert!(acme.lookup(&asks("q1"), &SAME).await.is_err());
    assert_eq!(hit(&globex, &asks("q2")).await.as_deref(), Some("globex's"));
}

#[tokio::test]
async fn one_computation_answers_all_who_ask_the_same() {
    let world = World::new().await;
    let acme = world.of("acme").await;
    let asked = std::sync::Arc::new(AtomicUsize::new(0));
    let callers: Vec<_> = (0..100)
        .map(|_| {
            let (acme, asked) = (acme.clone(), std::sync::Arc::clone(&asked));
            tokio::spawn(async move {
                let compute = || async move {
                    asked.fetch_add(1, SeqCst);
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    Ok::<_, CacheError>("answer".to_owned())
                };
                acme.get_or_try_compute(&asks("q1"), &SAME, compute).await.unwrap()
            })
        })
        .collect();
    for caller in callers {
        assert_eq!(caller.await.unwrap(), "answer");
    }
    assert_eq!(asked.load(SeqCst), 1);
    assert_eq!(hit(&acme, &asks("q2")).await.as_deref(), Some("answer"), "and its question is kept");
    let failed = acme
        .get_or_try_compute(&SemanticParts { endpoint: "http://b".to_owned(), ..asks("q") }, &SAME, || async {
            Err::<String, _>(CacheError::Value)
        })
        .await;
    assert!(matches!(failed, Err(CacheError::Value)));
}

/// Questions are let go when their answers are.
#[tokio::test]
async fn questions_that_are_over_are_cleared_up() {
    let tenants = TestTenants::builder().clock().build().await;
    let settings = CacheSettings::new().patience(Duration::from_secs(10));
    let caches = Caches::with_settings(tenants.realm(), MemoryBackend::new(), settings);
    let questions = ReferenceBackend::new();
    let semantic = SemanticCache::new(tenants.realm(), &caches, questions.clone(), 3, similarity(0.8)).unwrap();
    let count = async || {
        let schema = tenancy_vector::Schema::dense(3).unwrap();
        let store = tenancy_vector::VectorStore::new(tenants.realm(), questions.clone(), schema);
        store.scoped(&tenants.context("acme").await).unwrap().count(None).await.unwrap()
    };
    let put = async |from: usize, to: usize| {
        let acme = semantic.scoped::<String>(&tenants.context("acme").await).unwrap();
        for n in from..to {
            fill(&acme, &SemanticParts { endpoint: format!("http://{n}"), ..asks("q") }, "answer").await;
        }
    };
    put(0, 50).await;
    assert_eq!(count().await, 50, "positive control");
    tenants.clock().advance(Duration::from_secs(2 * 3600));
    put(50, 1050).await;
    assert!(count().await <= 1000, "{}", count().await);
}
