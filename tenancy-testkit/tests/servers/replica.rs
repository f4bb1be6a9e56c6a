//! The throwaway standby.

use std::process::Command;

use sqlx::Executor;
use tenancy_testkit::ThrowawayPostgres;

use crate::{connect, text};

const COUNT: &str = "select count(*) from t";

#[tokio::test]
async fn it_follows_stands_still_and_follows_again() {
    let server = ThrowawayPostgres::start().await.unwrap();
    let database = server.fresh_database().await;
    database.run_as_owner("create table t(); grant select, insert on t to app").await;
    let replica = server.replica().await.unwrap();
    let mut there = connect(&replica.database(&database).app_options()).await;
    assert_eq!(text(&mut there, COUNT).await, "0");

    database.run_as_owner("insert into t default values").await;
    replica.catch_up().await;
    assert_eq!(text(&mut there, COUNT).await, "1");

    replica.pause_replay().await;
    database.run_as_owner("insert into t default values").await;
    let mut here = connect(&database.app_options()).await;
    assert_eq!((text(&mut here, COUNT).await, text(&mut there, COUNT).await), ("2".to_owned(), "1".to_owned()));

    replica.resume_replay().await;
    replica.catch_up().await;
    assert_eq!(text(&mut there, COUNT).await, "2");

    // A database that is made later is there too.
    let later = server.fresh_database().await;
    replica.catch_up().await;
    assert_eq!(text(&mut connect(&replica.database(&later).app_options()).await, "select 1").await, "1");
}

/// Which another standby brings about: copying the primary begins a log file and throws the old ones away, and whoever had not
/// been sent their end would wait for them for ever.
#[tokio::test]
async fn it_follows_on_where_the_log_was_thrown_away_before_it_was_sent() {
    let server = ThrowawayPostgres::start().await.unwrap();
    let database = server.fresh_database().await;
    let replica = server.replica().await.unwrap();
    replica.catch_up().await;
    let mut here = connect(&database.superuser_options()).await;
    let sender = text(&mut here, "select pid::text from pg_stat_replication").await;
    let signal = |name: &str| assert!(Command::new("kill").args([name, &sender]).status().unwrap().success());
    signal("-STOP");
    for _file in 0..3 {
        text(&mut here, "select pg_logical_emit_message(true, 'x', 'x')::text").await;
        text(&mut here, "select pg_switch_wal()::text").await;
        here.execute("checkpoint").await.unwrap();
    }
    signal("-CONT");
    replica.catch_up().await;
}

#[tokio::test]
async fn it_is_read_only_and_the_same_cluster_until_it_is_promoted() {
    let server = ThrowawayPostgres::start().await.unwrap();
    let database = server.fresh_database().await;
    let replica = server.replica().await.unwrap();
    let mut there = connect(&replica.database(&database).superuser_options()).await;
    let mut here = connect(&database.superuser_options()).await;
    let cluster = "select system_identifier::text from pg_control_system()";
    assert_eq!(text(&mut there, cluster).await, text(&mut here, cluster).await);
    assert_eq!(text(&mut there, "select pg_is_in_recovery()::text").await, "true");
    assert!(there.execute("create table t()").await.is_err());

    replica.promote().await;
    assert_eq!(text(&mut there, "select pg_is_in_recovery()::text").await, "false");
    assert!(there.execute("create table t()").await.is_ok());
    // They went separate ways.
    assert_eq!(text(&mut here, "select count(*) from pg_class where relname = 't'").await, "0");
}
