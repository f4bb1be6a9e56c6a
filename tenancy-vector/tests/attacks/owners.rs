//! Tenants and corpora in one back end, and corpora that are not for whoever asks.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tenancy_core::{Denial, Reach};
use tenancy_testkit::TestTenants;
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::{Change, Fusion, Origin, Select, SharedVectors, TenantVectors, VectorError, VectorStore};

use crate::cases::{self, of};
use crate::corpora;
use crate::fake::Fake;
use crate::house::{is_denied, library, near, nothing, schema};
use crate::models::Model;
use crate::spy::Spy;

/// One back end for tenants and corpora: whoever takes everything away takes what is theirs.
#[tokio::test]
async fn all_of_one_owner_is_nothing_of_another() {
    let tenants = TestTenants::new().await;
    let backend = Arc::new(ReferenceBackend::new());
    let store = VectorStore::new(tenants.realm(), Arc::clone(&backend), schema());
    let corpus = |text| SharedVectors::new(tenants.realm(), &corpora::name(text), Arc::clone(&backend), schema());
    let (handbook, statutes) = (corpus("handbook"), corpus("statutes"));
    let (acme, globex) = (of(&tenants, &store, "acme").await, of(&tenants, &store, "globex").await);
    let context = tenants.context("acme").await;
    let fill = async || {
        acme.upsert(library("acme")).await.unwrap();
        globex.upsert(library("globex")).await.unwrap();
        corpora::publish(&tenants, &handbook, library("everybody")).await;
        corpora::publish(&tenants, &statutes, library("everybody")).await;
    };
    let counts = async || {
        let (one, two) = (handbook.scoped(&context).unwrap(), statutes.scoped(&context).unwrap());
        [
            acme.count(None).await.unwrap(),
            globex.count(None).await.unwrap(),
            one.count(None).await.unwrap(),
            two.count(None).await.unwrap(),
        ]
    };
    let all = || vec![Change::Delete(Select::Matching(nothing().not())), Change::Delete(Select::All)];
    fill().await;
    assert_eq!(counts().await, [9, 9, 9, 9], "positive control");
    acme.change(all()).await.unwrap();
    assert_eq!(counts().await, [0, 9, 9, 9]);
    fill().await;
    let grant = corpora::grant(&tenants, Reach::Corpus(corpora::name("handbook"))).await;
    handbook.publish(&grant).await.unwrap().change(all()).await.unwrap();
    assert_eq!(counts().await, [9, 9, 0, 9]);
    let refused = statutes.publish(&grant).await.unwrap_err();
    assert_eq!(Denial::of(&refused).unwrap().rule(), "grant.out_of_reach");
}

/// One corpus that may not be read: nothing is asked at all.
#[tokio::test]
async fn a_corpus_among_others_that_is_not_for_the_reader() {
    let (tenants, others) = (TestTenants::new().await, TestTenants::new().await);
    let spy = Spy::default();
    let store = VectorStore::new(tenants.realm(), Fake::new(spy.clone()), schema());
    let handbook = SharedVectors::new(tenants.realm(), &corpora::name("handbook"), Fake::new(spy.clone()), schema());
    let foreign = SharedVectors::new(others.realm(), &corpora::name("handbook"), Fake::new(spy.clone()), schema());
    corpora::publish(&tenants, &handbook, library("everybody")).await;
    corpora::publish(&others, &foreign, vec![cases::point("secret", 1.0, "globex")]).await;
    let acme = of(&tenants, &store, "acme").await;
    acme.upsert(library("acme")).await.unwrap();
    let near = near();
    let mixed = acme.query_with(&near, &[(&handbook, &near), (&foreign, &near)], &Fusion::ranks()).await;
    assert!(is_denied(&mixed, Denial::ForeignRealm), "{mixed:?}");
    let many = vec![(&handbook, &near); TenantVectors::MAX_QUERIES];
    assert!(matches!(acme.query_with(&near, &many, &Fusion::ranks()).await, Err(VectorError::TooMany { .. })));
    assert_eq!(spy.reads.load(Ordering::Relaxed), 0, "nothing was asked");
    // The same corpus twice is one corpus: each of its points comes once, and none takes the place of one's own.
    let twice = acme.query_with(&near, &[(&handbook, &near), (&handbook, &near)], &Fusion::Scores).await.unwrap();
    let places: BTreeSet<_> = twice.iter().map(|hit| (hit.origin().clone(), hit.id().clone())).collect();
    assert_eq!((places.len(), twice.len()), (18, 18));
    assert!(twice.iter().all(|hit| (hit.payload()["owner"] == "acme") == (*hit.origin() == Origin::Own)));
    // What a re-ranker of a corpus is shown is the corpus'.
    let read = handbook.scoped(&tenants.context("acme").await).unwrap();
    let ranked = read.query_reranked(&near, "", &Model::of(0.0), 100).await.unwrap();
    assert!(ranked.len() == 9 && ranked.iter().all(|hit| hit.payload()["owner"] == "everybody"));
}
