//! A store that is dead, silent, full or slow: misses in time, no wrong value, and back without a restart.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tenancy_cache::redis::{RedisBackend, RedisOptions};
use tenancy_cache::{CacheSettings, Caches, Lookup, Put};
use tenancy_testkit::TestTenants;
use tenancy_testkit::proxy::{Direction, FaultProxy, Protocol, Upstream};

use crate::history::recovered;
use crate::{Look, of, on, process, question, seen};

/// Caches as a service has them: with the usual times.
fn usual(tenants: &TestTenants, options: &RedisOptions) -> Caches {
    Caches::new(tenants.realm(), RedisBackend::new(options).unwrap())
}

/// Asks for a while. Whatever is found is right, and no look takes much longer than its patience.
async fn ask_for(time: Duration, caches: &Caches, tenants: &TestTenants, what: &str) -> (usize, usize) {
    let (mut hits, mut bypasses) = (0, 0);
    let end = Instant::now() + time;
    let mut number = 0;
    while Instant::now() < end {
        number += 1;
        let tenant = ["acme", "globex"][number % 2];
        let layer = of(caches, tenants, tenant).await;
        let asked = Instant::now();
        match layer.lookup(&question(number % 10)).await.unwrap() {
            Lookup::Hit(value) => {
                assert_eq!(value, format!("{tenant}'s {}", number % 10), "{what}");
                hits += 1;
            }
            Lookup::Miss(slot) => drop(slot.put(&format!("{tenant}'s {}", number % 10)).await.unwrap()),
            Lookup::Bypass(_) => {
                bypasses += 1;
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
        assert!(asked.elapsed() < Duration::from_secs(5), "{what}: a request waits {:?}", asked.elapsed());
    }
    (hits, bypasses)
}

/// Asks until something is found.
async fn is_a_cache(caches: &Caches, tenants: &TestTenants, what: &str) {
    for _second in 0..20 {
        if ask_for(Duration::from_secs(1), caches, tenants, what).await.0 > 0 {
            return;
        }
    }
    panic!("{what}: nothing is found for twenty seconds");
}

#[tokio::test(flavor = "multi_thread")]
async fn c7_a_server_that_is_killed_frozen_or_started_empty_is_a_miss_and_comes_back() {
    let mut server = crate::server().await;
    let tenants = TestTenants::new().await;
    let caches = usual(&tenants, &RedisOptions::new(&server.url()).unwrap());
    let second = Duration::from_secs(1);
    for what in ["frozen", "killed", "frozen again"] {
        is_a_cache(&caches, &tenants, "well").await;
        if what == "killed" {
            server.kill()
        } else {
            server.freeze()
        }
        let (_, bypasses) = ask_for(second, &caches, &tenants, what).await;
        assert!(bypasses > 0, "{what}");
        if what == "killed" {
            server.restart().await.unwrap()
        } else {
            server.thaw()
        }
        recovered(&of(&caches, &tenants, "acme").await).await;
    }
    is_a_cache(&caches, &tenants, "well again").await;
    assert_eq!(caches.stats().of(tenancy_cache::Layer::Response).integrity_misses, 0);
}

/// A service that starts before its cache does.
#[tokio::test(flavor = "multi_thread")]
async fn c7_a_server_that_is_not_there_yet_is_found_when_it_is() {
    let mut server = crate::server().await;
    server.kill();
    let tenants = TestTenants::new().await;
    let caches = usual(&tenants, &RedisOptions::new(&server.url()).unwrap());
    assert_eq!(ask_for(Duration::from_millis(300), &caches, &tenants, "not there").await.0, 0);
    server.restart().await.unwrap();
    recovered(&of(&caches, &tenants, "acme").await).await;
    is_a_cache(&caches, &tenants, "there").await;
}

/// Full, and nothing may be driven out: nothing is kept, and what is removed is gone all the same.
#[tokio::test(flavor = "multi_thread")]
async fn c7_a_full_server_keeps_nothing_and_removes_what_it_has() {
    let server = crate::server().await;
    let tenants = TestTenants::new().await;
    let caches = process(&tenants, on(&server));
    let (acme, globex) = (of(&caches, &tenants, "acme").await, of(&caches, &tenants, "globex").await);
    for number in 0..40 {
        acme.fill(&question(number), "kept").await;
        globex.fill(&question(number), "globex's").await;
    }
    let late = acme.slot(&question(40)).await;
    server.command(&["config", "set", "maxmemory-policy", "noeviction"]).await;
    server.command(&["config", "set", "maxmemory", "1"]).await;
    assert!(matches!(late.put(&"late".to_owned()).await.unwrap(), Put::Skipped(_)), "it is full");
    acme.invalidate(&question(3)).await.unwrap();
    assert_eq!(seen(&acme, &question(3)).await.unwrap(), None, "removed");
    assert_eq!(globex.hit(&question(3)).await.as_deref(), Some("globex's"), "and another tenant's is not");
    caches.scoped(&tenants.context("acme").await).unwrap().flush().await.unwrap();
    for number in 0..40 {
        assert_eq!(seen(&acme, &question(number)).await.unwrap(), None, "flushed, {number}");
        assert_eq!(globex.hit(&question(number)).await.as_deref(), Some("globex's"));
    }
    server.command(&["config", "set", "maxmemory", "0"]).await;
    assert_eq!(acme.hit(&question(3)).await, None, "nor is it there when there is room again");
    acme.fill(&question(3), "new").await;
    assert_eq!(acme.hit(&question(3)).await.as_deref(), Some("new"));
}

/// A removal that is not known to have happened leaves the layer aside until one is.
#[tokio::test(flavor = "multi_thread")]
async fn c6_an_invalidation_that_is_not_answered_is_owed() {
    let server = crate::server().await;
    let tenants = TestTenants::new().await;
    let options = RedisOptions::new(&server.url()).unwrap().response_timeout(Duration::from_secs(1));
    let caches = process(&tenants, RedisBackend::new(&options).unwrap());
    let acme = of(&caches, &tenants, "acme").await;
    acme.fill(&question(1), "kept").await;
    server.freeze();
    assert!(acme.invalidate(&question(1)).await.is_err());
    server.thaw();
    let looked = acme.lookup(&question(2)).await.unwrap();
    assert!(matches!(looked, Lookup::Bypass(tenancy_cache::Bypass::InvalidationOwed)), "{looked:?}");
    let globex = of(&caches, &tenants, "globex").await;
    recovered(&globex).await;
    globex.fill(&question(1), "globex's").await;
    acme.invalidate(&question(1)).await.unwrap();
    assert_eq!(acme.hit(&question(1)).await, None);
    acme.fill(&question(1), "new").await;
    assert_eq!(acme.hit(&question(1)).await.as_deref(), Some("new"));
}

/// C7: a primary dies under load, its replica takes over.
#[tokio::test(flavor = "multi_thread")]
async fn c7_a_cluster_loses_a_primary_and_goes_on() {
    let mut cluster = tenancy_testkit::ThrowawayRedisCluster::start().await.unwrap();
    let tenants = TestTenants::new().await;
    let urls = cluster.urls();
    let options = RedisOptions::cluster(urls.iter().map(String::as_str)).unwrap();
    let caches = usual(&tenants, &options);
    recovered(&of(&caches, &tenants, "acme").await).await;
    for (round, what) in ["killed", "frozen"].into_iter().enumerate() {
        is_a_cache(&caches, &tenants, "whole").await;
        let primary = cluster.primary_of(&format!("any key {round}")).await;
        if what == "killed" {
            cluster.node(primary).kill()
        } else {
            cluster.node(primary).freeze()
        }
        ask_for(Duration::from_secs(4), &caches, &tenants, what).await;
        wait_until_all_is_served(&caches, &tenants, what).await;
        if what == "killed" {
            cluster.node(primary).restart().await.unwrap()
        } else {
            cluster.node(primary).thaw()
        }
        cluster.wait_until_whole().await.unwrap();
    }
    wait_until_all_is_served(&caches, &tenants, "whole again").await;
    assert_eq!(caches.stats().of(tenancy_cache::Layer::Response).integrity_misses, 0);
}

async fn wait_until_all_is_served(caches: &Caches, tenants: &TestTenants, what: &str) {
    let start = Instant::now();
    loop {
        let (mut served, layer) = (0, of(caches, tenants, "acme").await);
        for number in 0..30 {
            if !matches!(layer.lookup(&question(number)).await.unwrap(), Lookup::Bypass(_)) {
                served += 1;
            }
        }
        if served == 30 {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{what}: {served} of 30 are served");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// C4: a look is dropped while its answer is under way, and the next one is on the same connection.
#[tokio::test(flavor = "multi_thread")]
async fn c4_a_dropped_look_leaves_its_answer_to_nobody() {
    let server = crate::server().await;
    let upstream = Upstream::Tcp(([127, 0, 0, 1], server.port()).into());
    let proxy = Arc::new(FaultProxy::start(upstream, Protocol::Bytes).await.unwrap());
    let tenants = Arc::new(TestTenants::new().await);
    for (what, response_timeout) in [("patient", 5_000), ("impatient", 150)] {
        let options = RedisOptions::new(&format!("redis://127.0.0.1:{}", proxy.port())).unwrap();
        let options = options.response_timeout(Duration::from_millis(response_timeout));
        let settings = CacheSettings::new().patience(Duration::from_secs(10));
        let caches = Caches::with_settings(tenants.realm(), RedisBackend::new(&options).unwrap(), settings);
        let (acme, globex) = (of(&caches, &tenants, "acme").await, of(&caches, &tenants, "globex").await);
        if what == "patient" {
            for number in 0..10 {
                acme.fill(&question(number), &format!("acme's {number}")).await;
                globex.fill(&question(number), &format!("globex's {number}")).await;
            }
        }
        proxy.delay(Direction::ToServer, Duration::from_millis(100));
        proxy.delay(Direction::ToClient, Duration::from_millis(100));
        let workers = (0..50_usize).map(|worker| {
            let (caches, tenants) = (caches.clone(), Arc::clone(&tenants));
            tokio::spawn(async move {
                let mut hits = 0;
                for turn in 0..20_usize {
                    let number = (worker + turn) % 10;
                    let patience = Duration::from_millis(((worker * 20 + turn) % 200) as u64);
                    let acme = of(&caches, &tenants, "acme").await;
                    let _dropped = tokio::time::timeout(patience, acme.lookup(&question(number))).await;
                    let globex = of(&caches, &tenants, "globex").await;
                    if let Some(value) = seen(&globex, &question(number)).await.unwrap() {
                        assert_eq!(value, format!("globex's {number}"));
                        hits += 1;
                    }
                }
                hits
            })
        });
        let mut hits = 0;
        for worker in workers.collect::<Vec<_>>() {
            hits += worker.await.unwrap();
        }
        assert_eq!(hits > 0, what == "patient", "{what}: {hits} hits");
        proxy.delay(Direction::ToServer, Duration::ZERO);
        proxy.delay(Direction::ToClient, Duration::ZERO);
        recovered(&of(&caches, &tenants, "acme").await).await;
        assert_eq!(caches.stats().of(tenancy_cache::Layer::Response).integrity_misses, 0, "{what}");
    }
}
