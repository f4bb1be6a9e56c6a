//! The throwaway Redis, and the cluster.

use std::time::Duration;

use tenancy_testkit::{ThrowawayRedis, ThrowawayRedisCluster};

#[tokio::test]
async fn a_server_answers_freezes_and_starts_again_with_what_it_saved() {
    let mut server = ThrowawayRedis::start().await.unwrap();
    assert_eq!(server.command(&["set", "kept", "1"]).await, "OK");
    assert_eq!(server.command(&["save"]).await, "OK");
    assert_eq!(server.command(&["set", "lost", "1"]).await, "OK");

    server.freeze();
    let frozen = tokio::time::timeout(Duration::from_millis(300), server.command(&["ping"])).await;
    assert!(frozen.is_err(), "nothing is answered");
    server.thaw();
    assert_eq!(server.command(&["ping"]).await, "PONG");

    server.kill();
    server.restart().await.unwrap();
    assert_eq!(server.command(&["mget", "kept", "lost"]).await, "1\n");
    let directory = server.directory();
    assert!(directory.join("dump.rdb").is_file());
    drop(server);
    assert!(!directory.exists());
}

#[tokio::test]
async fn a_server_takes_settings() {
    let server =
        ThrowawayRedis::start_with(&[("maxmemory", "4mb"), ("maxmemory-policy", "allkeys-lru")]).await.unwrap();
    assert_eq!(server.command(&["config", "get", "maxmemory"]).await, "maxmemory\n4194304");
}

#[tokio::test]
async fn a_cluster_loses_a_primary_and_goes_on() {
    let mut cluster = ThrowawayRedisCluster::start().await.unwrap();
    assert_eq!(cluster.urls().len(), 6);
    let primary = cluster.primary_of("key").await;
    assert_eq!(cluster.nodes()[primary].command(&["set", "key", "1"]).await, "OK");
    assert_eq!(cluster.nodes()[primary].command(&["wait", "1", "5000"]).await, "1");
    cluster.node(primary).kill();
    let successor = loop {
        let found = cluster.primary_of("key").await;
        if found != primary {
            break found;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(cluster.nodes()[successor].command(&["get", "key"]).await, "1");
    cluster.node(primary).restart().await.unwrap();
    cluster.wait_until_whole().await.unwrap();
}
