//! The throwaway Redis, the cluster, and the network that lies.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use tenancy_testkit::proxy::{Lie, LyingProxy};
use tenancy_testkit::{ThrowawayRedis, ThrowawayRedisCluster};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

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

/// Whether the replica has acknowledged all that was written.
fn has_replicated(info: &str) -> bool {
    let after = |name: &str| info.split(name).nth(1).and_then(|rest| rest.split([',', '\r', '\n']).next());
    after("slave0:").is_some() && after(",offset=") == after("master_repl_offset:")
}

#[tokio::test]
async fn a_cluster_loses_a_primary_and_goes_on() {
    let mut cluster = ThrowawayRedisCluster::start().await.unwrap();
    assert_eq!(cluster.urls().len(), 6);
    let primary = cluster.primary_of("key").await;
    assert_eq!(cluster.nodes()[primary].command(&["set", "key", "1"]).await, "OK");
    // What the replica has not got is lost with the primary.
    while !has_replicated(&cluster.nodes()[primary].command(&["info", "replication"]).await) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
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

/// A connection to a server with `a` and `b`, on which `mget none b` was answered.
async fn through(proxy: &LyingProxy) -> TcpStream {
    let mut client = TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap();
    client.write_all(b"*3\r\n$4\r\nMGET\r\n$4\r\nnone\r\n$1\r\nb\r\n").await.unwrap();
    assert_eq!(heard(&mut client, B).await, B);
    client
}

async fn heard(client: &mut TcpStream, wanted: &str) -> String {
    let mut bytes = vec![0; wanted.len()];
    client.read_exact(&mut bytes).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn a_proxy_tells_the_lies_that_it_is_told_to() {
    let server = ThrowawayRedis::start().await.unwrap();
    assert_eq!(server.command(&["mset", "a", "1", "b", "2"]).await, "OK");
    for (lie, times, answers) in [
        (Lie::Late, 2, [A, PONG].concat()),
        (Lie::Swapped, 1, [PONG, A].concat()),
        (Lie::Lost, 2, String::new()),
        (Lie::OtherReply, 1, [B, PONG].concat()),
        (Lie::OtherValue, 1, [B, PONG].concat()),
        (Lie::Cut, 1, A[..A.len() / 2].to_owned()),
    ] {
        let proxy = LyingProxy::start(([127, 0, 0, 1], server.port()).into(), 1).await.unwrap();
        let mut client = through(&proxy).await;
        proxy.rate(lie, 10_000);
        client.write_all(b"*3\r\n$4\r\nMGET\r\n$4\r\nnone\r\n$1\r\na\r\n*1\r\n$4\r\nPING\r\n").await.unwrap();
        assert_eq!(heard(&mut client, &answers).await, answers, "{lie:?}");
        while proxy.told(lie) < times {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let told = Lie::ALL.map(|lie| proxy.told(lie));
        assert_eq!((proxy.told(lie), told.iter().sum()), (times, times), "{lie:?}: {proxy:?}");
        match lie {
            Lie::Cut => assert_eq!(client.read(&mut [0]).await.unwrap(), 0, "the end"),
            _ => {
                proxy.be_honest();
                client.write_all(b"*2\r\n$4\r\nECHO\r\n$3\r\nend\r\n").await.unwrap();
                assert_eq!(heard(&mut client, END).await, END, "{lie:?}: and on it goes");
            }
        }
    }
}

const A: &str = "*2\r\n$-1\r\n$1\r\n1\r\n";
const B: &str = "*2\r\n$-1\r\n$1\r\n2\r\n";
const PONG: &str = "+PONG\r\n";
const END: &str = "$3\r\nend\r\n";
