//! What a server has from before: nothing of it comes back.

use tenancy_testkit::{TestTenants, ThrowawayRedis};

use crate::{Look, of, on, process, question};

/// A snapshot is taken, then an entry is removed and a life flushed, then the snapshot is restored.
#[tokio::test(flavor = "multi_thread")]
async fn a_restored_snapshot_brings_nothing_back() {
    let mut server = crate::server().await;
    let tenants = TestTenants::new().await;
    let caches = process(&tenants, on(&server));
    let (acme, globex) = (of(&caches, &tenants, "acme").await, of(&caches, &tenants, "globex").await);
    for number in 0..40 {
        acme.fill(&question(number), "removed later").await;
        globex.fill(&question(number), "flushed later").await;
    }
    server.command(&["save"]).await;
    for number in 0..40 {
        acme.invalidate(&question(number)).await.unwrap();
    }
    caches.scoped(&tenants.context("globex").await).unwrap().flush().await.unwrap();
    server.kill();
    server.restart().await.unwrap();
    assert_eq!(server.command(&["exists", &first_entry(&server).await]).await, "1", "it is all there again");
    recovered(&acme).await;
    for number in 0..40 {
        assert_eq!(acme.hit(&question(number)).await, None, "removed, {number}");
        assert_eq!(globex.hit(&question(number)).await, None, "flushed, {number}");
        acme.fill(&question(number), "new").await;
        assert_eq!(acme.hit(&question(number)).await.as_deref(), Some("new"));
    }
    // Another process, which never saw the server of before.
    let other = process(&tenants, on(&server));
    assert_eq!(of(&other, &tenants, "globex").await.hit(&question(1)).await, None);
    assert_eq!(of(&other, &tenants, "acme").await.hit(&question(1)).await.as_deref(), Some("new"));
    assert_eq!(caches.stats().of(tenancy_cache::Layer::Response).integrity_misses, 0);
}

/// The primary loses what it had not replicated, and later has its place again: the same process, which its clients never
/// left.
#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_lost_its_place_and_has_it_again_brings_nothing_back() {
    let (primary, replica) = (crate::server().await, crate::server().await);
    let tenants = TestTenants::new().await;
    let caches = process(&tenants, on(&primary));
    let acme = of(&caches, &tenants, "acme").await;
    for number in 0..40 {
        acme.fill(&question(number), "removed later").await;
    }
    follow(&replica, &primary).await;
    // The link breaks, and what is removed now is lost with the primary.
    replica.command(&["replicaof", "no", "one"]).await;
    for number in 0..40 {
        acme.invalidate(&question(number)).await.unwrap();
    }
    follow(&primary, &replica).await;
    primary.command(&["replicaof", "no", "one"]).await;
    assert_ne!(primary.command(&["keys", "tc1:*:response:*"]).await, "", "it is all there again");
    // What a connection said of its server is believed for a second.
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    for number in 0..40 {
        assert_eq!(acme.hit(&question(number)).await, None, "{number}");
    }
    acme.fill(&question(1), "new").await;
    assert_eq!(acme.hit(&question(1)).await.as_deref(), Some("new"), "positive control");
}

async fn follow(replica: &ThrowawayRedis, primary: &ThrowawayRedis) {
    replica.command(&["replicaof", "127.0.0.1", &primary.port().to_string()]).await;
    while !replica.command(&["info", "replication"]).await.contains("master_link_status:up") {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

async fn first_entry(server: &ThrowawayRedis) -> String {
    server.command(&["keys", "tc1:*:response:*"]).await.lines().next().unwrap_or_default().to_owned()
}

/// Waits until the cache has noticed that the server is there again.
pub(crate) async fn recovered(layer: &tenancy_cache::TenantLayer<tenancy_cache::ResponseParts, String>) {
    for _wait in 0..500 {
        if let tenancy_cache::Lookup::Bypass(_) = layer.lookup(&question(1_000_000)).await.unwrap() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        } else {
            return;
        }
    }
    panic!("the cache stands aside for ten seconds");
}
