//! V12, on every read that gives points.

use std::sync::atomic::Ordering;

use serde_json::{Map, Value, json};
use tenancy_core::Denial;
use tenancy_testkit::TestTenants;
use tenancy_vector::{
    Fusion, GroupBy, Order, Recommend, Scroll, SharedVectors, VectorError, VectorName, VectorQuery, VectorStore,
};

use crate::cases::{self, denied, id, of};
use crate::corpora;
use crate::fake::Fake;
use crate::house::{POINTS, is_denied, key, library, near, schema};
use crate::models::Model;
use crate::spy::Spy;

/// V12, on every read that gives points: another's, another's under one's own life, a corpus', nobody's; in the place of
/// one's own and beside it.
#[tokio::test]
async fn a_lie_in_any_read_fails_the_whole_call() {
    let (tenants, spy) = (TestTenants::new().await, Spy::default());
    let store = VectorStore::new(tenants.realm(), Fake::new(spy.clone()), schema());
    let shared = SharedVectors::new(tenants.realm(), &corpora::name("handbook"), Fake::new(spy.clone()), schema());
    let (acme, globex) = (of(&tenants, &store, "acme").await, of(&tenants, &store, "globex").await);
    globex.upsert(vec![cases::point("doc:0", 1.0, "globex")]).await.unwrap();
    corpora::publish(&tenants, &shared, vec![cases::point("doc:0", 1.0, "everybody")]).await;
    acme.upsert(library("acme")).await.unwrap();
    let (foreign, common, own) = (spy.kept(0), spy.kept(1), spy.kept(2));
    let with = |payload: &Map<String, Value>, name: &str, value: &Value| {
        let mut payload = payload.clone();
        payload["tenancy"][name] = value.clone();
        payload
    };
    let untagged = |payload: &Map<String, Value>| {
        let mut payload = payload.clone();
        payload.remove("tenancy");
        payload
    };
    let lies = [
        ("another's", foreign.clone()),
        ("another's under our life", with(&foreign, "life", &own["tenancy"]["life"])),
        ("another's under our digest", with(&foreign, "digest", &own["tenancy"]["digest"])),
        ("a corpus'", common.clone()),
        ("a corpus' under our life", with(&common, "life", &own["tenancy"]["life"])),
        ("ours with the mark of a corpus", with(&own, "life", &common["tenancy"]["life"])),
        (
            "ours with the lives of both",
            with(&own, "life", &json!([own["tenancy"]["life"], foreign["tenancy"]["life"]])),
        ),
        ("ours under another id", with(&own, "id", &json!("doc:9"))),
        ("nobody's", untagged(&own)),
    ];
    let like = || VectorQuery::recommend(VectorName::dense(), Recommend::Sum, [id("doc:1").into()], []).unwrap();
    let groups = GroupBy::new(key("lang"), 2, 2).unwrap();
    let corpus = shared.scoped(&tenants.context("acme").await).unwrap();
    for instead in [true, false] {
        spy.instead.store(instead, Ordering::Relaxed);
        for (what, lie) in &lies {
            let before = denied(&tenants, "acme", "store.breach").await;
            spy.lie(vec![lie.clone()]);
            let calls: [(&str, Result<(), VectorError>); 12] = [
                ("query", acme.query(&near()).await.map(drop)),
                ("batch", acme.query_batch(&[near(), VectorQuery::sample()]).await.map(drop)),
                ("example", acme.query(&like()).await.map(drop)),
                ("groups", acme.query_groups(&near(), &groups).await.map(drop)),
                ("matrix", acme.matrix(&VectorName::dense(), None, 5, 2).await.map(drop)),
                ("get", acme.get(&[id("doc:0"), id("doc:1")]).await.map(drop)),
                ("get with vectors", acme.get_with_vectors(&[id("doc:0")]).await.map(drop)),
                ("scroll", acme.scroll(&Scroll::new(), None).await.map(drop)),
                (
                    "scroll in order",
                    acme.scroll(&Scroll::new().order(Order::ascending(key("year"))), None).await.map(drop),
                ),
                ("ordered", acme.query(&VectorQuery::ordered(Order::ascending(key("year")))).await.map(drop)),
                ("rerank", acme.query_reranked(&near(), "", &Model::of(1.0), 5).await.map(drop)),
                ("together", acme.query_with(&near(), &[(&shared, &near())], &Fusion::ranks()).await.map(drop)),
            ];
            for (call, answer) in &calls {
                assert!(is_denied(answer, Denial::StoreBreach), "{call}: {what}: {answer:?}");
            }
            let recorded = denied(&tenants, "acme", "store.breach").await - before;
            assert_eq!(recorded, calls.len() as u64, "each is on record: {what}");
            if !what.starts_with("a corpus'") || what.contains("our life") {
                let answer = corpus.query(&near()).await.map(drop);
                assert!(is_denied(&answer, Denial::StoreBreach), "of the corpus: {what}: {answer:?}");
            }
        }
    }
    spy.lie(vec![]);
    assert_eq!(acme.query(&near()).await.unwrap().len(), usize::from(POINTS), "positive control");
    assert_eq!(corpus.query(&near()).await.unwrap().len(), 1, "positive control");
}

/// A page has no more points than were asked for, and each once.
#[tokio::test]
async fn more_on_a_page_than_was_asked_for_is_a_breach() {
    let (tenants, spy) = (TestTenants::new().await, Spy::default());
    let store = VectorStore::new(tenants.realm(), Fake::new(spy.clone()), schema());
    let acme = of(&tenants, &store, "acme").await;
    acme.upsert(library("acme")).await.unwrap();
    let page = || Scroll::new().limit(3).unwrap();
    let honest = acme.scroll(&page(), None).await.unwrap();
    assert_eq!(honest.points().len(), 3, "positive control");
    // Pages go by keys, which are others on each run: one that this page does not have.
    let has = |kept: &Map<String, Value>| honest.points().iter().any(|p| kept["tenancy"]["id"] == p.id().as_str());
    let beyond = (0..usize::from(POINTS)).map(|n| spy.kept(n)).find(|kept| !has(kept)).unwrap();
    spy.lie(vec![beyond]);
    assert!(is_denied(&acme.scroll(&page(), None).await, Denial::StoreBreach), "a fourth of three");
    spy.lie(vec![spy.kept(0)]);
    let once = acme.scroll(&Scroll::new(), None).await.unwrap();
    assert_eq!(once.points().len(), usize::from(POINTS), "the same twice is one");
}
