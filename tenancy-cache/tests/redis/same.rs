//! The cases that every back end is tried with, on a server and on a cluster.

use std::time::Duration;

use tenancy_cache::redis::{RedisBackend, RedisOptions};
use tenancy_cache::{Bypass, Caches, Lookup};
use tenancy_testkit::{TestTenants, ThrowawayRedisCluster};

use crate::cases::{self, Place};
use crate::{Look, Store, of, process, question};

impl Place for Store {
    fn name(&self) -> &'static str {
        match self {
            Self::Server(_) => "a server",
            Self::Cluster(_) => "a cluster",
        }
    }

    fn process(&self, tenants: &TestTenants) -> Caches {
        process(tenants, self.backend())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c1_on_a_server_and_a_cluster() {
    for store in Store::both().await {
        cases::c1(&store).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c3_on_a_server_and_a_cluster() {
    for store in Store::both().await {
        cases::c3(&store).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c6_on_a_server_and_a_cluster() {
    for store in Store::both().await {
        cases::c6(&store).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c8_on_a_server_and_a_cluster() {
    for store in Store::both().await {
        cases::c8(&store).await;
    }
}

/// One node of a cluster is silent, and its replica takes over: what it was to remove is owed until somebody answers.
#[tokio::test(flavor = "multi_thread")]
async fn c6_an_invalidation_that_a_node_does_not_answer_is_owed() {
    let mut cluster = ThrowawayRedisCluster::start().await.unwrap();
    let urls = cluster.urls();
    let options = RedisOptions::cluster(urls.iter().map(String::as_str)).unwrap();
    let backend = RedisBackend::new(&options.response_timeout(Duration::from_millis(300))).unwrap();
    let tenants = TestTenants::new().await;
    let caches = process(&tenants, backend);
    let (acme, globex) = (of(&caches, &tenants, "acme").await, of(&caches, &tenants, "globex").await);
    for number in 0..20 {
        acme.fill(&question(number), "kept").await;
        globex.fill(&question(number), "globex's").await;
    }
    let silent = cluster.primary_of("any").await;
    cluster.node(silent).freeze();
    let mut owed = Vec::new();
    for number in 0..20 {
        if acme.invalidate(&question(number)).await.is_err() {
            owed.push(number);
            let looked = acme.lookup(&question(number)).await.unwrap();
            assert!(matches!(looked, Lookup::Bypass(Bypass::InvalidationOwed)), "{number}: {looked:?}");
        }
    }
    assert!(!owed.is_empty(), "some were on the silent node");
    for number in owed {
        while acme.invalidate(&question(number)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    cluster.node(silent).thaw();
    cluster.wait_until_whole().await.unwrap();
    crate::history::recovered(&globex).await;
    for number in 0..20 {
        while let Lookup::Bypass(reason) = acme.lookup(&question(number)).await.unwrap() {
            assert_eq!(reason, Bypass::Backend, "nothing is owed");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(crate::seen(&acme, &question(number)).await.unwrap(), None, "{number}");
        acme.fill(&question(number), "new").await;
        assert_eq!(acme.hit(&question(number)).await.as_deref(), Some("new"), "{number}");
    }
}
