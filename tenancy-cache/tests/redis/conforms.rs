//! What every back end must do, and one that processes share.

use std::time::Duration;

use tenancy_cache::redis::{RedisBackend, RedisError, RedisOptions};
use tenancy_cache::{MemoryBackend, TwoLevel, conformance};

use crate::{Store, server};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_and_a_cluster_conform() {
    for store in Store::both().await {
        conformance::all(&store.backend()).await;
        conformance::shared(&store.backend(), &store.backend()).await;
        for moment in [Duration::ZERO, Duration::from_secs(1)] {
            conformance::all(&TwoLevel::new(MemoryBackend::new(), store.backend(), moment)).await;
        }
        let process = || TwoLevel::new(MemoryBackend::new(), store.backend(), Duration::ZERO);
        conformance::shared(&process(), &process()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_said_at_the_start() {
    let server = server().await;
    let url = server.url();
    server.command(&["acl", "setuser", "nothing", "on", ">pw", "-@all", "+ping"]).await;
    server.command(&["acl", "setuser", "blind", "on", ">pw", "~*", "+@all", "-info"]).await;
    let of = |user, password: &str| RedisOptions::new(&url).unwrap().login(Some(user), password.into());
    for (what, options) in [
        ("a wrong password", of("nothing", "wrong")),
        ("nobody", of("nobody", "pw")),
        ("no right to look", of("nothing", "pw")),
        ("no right to ask who it is", of("blind", "pw")),
    ] {
        let refused = RedisBackend::new(&options).unwrap().check().await.unwrap_err();
        let shown = format!("{refused} {refused:?} {options:?}");
        assert!(matches!(refused, RedisError::Refused(_)), "{what}: {shown}");
        assert!(!shown.contains("pw") && !shown.contains("wrong") && !shown.contains("127.0.0.1"), "{what}: {shown}");
    }
    let nobody = RedisBackend::new(&RedisOptions::new("redis://127.0.0.1:1").unwrap()).unwrap();
    assert!(matches!(nobody.check().await, Err(RedisError::Unreachable(_))));
    on_a_replica(&server).await;
}

async fn on_a_replica(primary: &tenancy_testkit::ThrowawayRedis) {
    let replica = server().await;
    assert!(crate::on(&replica).check().await.is_ok(), "positive control");
    replica.command(&["replicaof", "127.0.0.1", &primary.port().to_string()]).await;
    let refused = crate::on(&replica).check().await.unwrap_err();
    assert!(matches!(refused, RedisError::NoHistory), "{refused:?}");
}

/// The user of the guide can do all that is needed and nothing that reaches another's keys.
#[tokio::test(flavor = "multi_thread")]
async fn the_user_of_the_guide_is_enough_and_no_more() {
    let server = server().await;
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/caches.md")).unwrap();
    let line = guide.lines().find(|line| line.starts_with("acl setuser cache ")).unwrap();
    assert_eq!(server.command(&line.split_whitespace().collect::<Vec<_>>()).await, "OK");
    let options = RedisOptions::new(&server.url()).unwrap().login(Some("cache"), "PASSWORD".into());
    let backend = crate::patient(options);
    tenancy_cache::conformance::all(&backend).await;
    for refused in ["scan 0", "keys *", "flushall", "randomkey", "get other", "set other 1", "config get *", "monitor"]
    {
        let words = ["--user", "cache", "--pass", "PASSWORD"].into_iter().chain(refused.split(' '));
        let answer = server.command(&words.collect::<Vec<_>>()).await;
        assert!(answer.contains("NOPERM"), "{refused}: {answer}");
    }
}
