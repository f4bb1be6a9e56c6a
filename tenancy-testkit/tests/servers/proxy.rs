//! The fault proxy, between a driver and Postgres.

use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor};
use tenancy_testkit::proxy::{After, Direction, Fault};
use tenancy_testkit::{FaultProxy, ServerOptions, TestDatabase, ThrowawayPostgres};

use crate::{connect, text};

async fn proxied() -> (FaultProxy, TestDatabase) {
    ThrowawayPostgres::shared().await.fresh_database().await.behind_a_proxy().await
}

/// An encoded statement: parse, describe, bind, execute.
async fn encoded(client: &mut PgConnection) -> Result<i32, sqlx::Error> {
    sqlx::query_scalar("select $1 + 1").bind(41).fetch_one(client).await
}

#[tokio::test]
async fn round_trips_and_messages_are_those_of_the_protocol() {
    let (proxy, database) = proxied().await;
    let mut client = connect(&database.app_options()).await;
    let startup = proxy.traffic();
    assert_eq!((startup.connections, startup.to_server.of_type(0), startup.to_client.of_type(b'Z')), (1, 1, 1));

    text(&mut client, "select 1").await;
    let simple = proxy.traffic().since(&startup);
    assert_eq!((simple.round_trips, simple.to_server.of_type(b'Q'), simple.to_client.of_type(b'D')), (1, 1, 1));
    assert_eq!(simple.to_server.messages(), 1);

    // The driver prepares first, and waits for that.
    let mut rounds = Vec::new();
    for _ in 0..2 {
        let before = proxy.traffic();
        assert_eq!(encoded(&mut client).await.unwrap(), 42);
        let now = proxy.traffic().since(&before);
        rounds.push((now.round_trips, now.to_server.of_type(b'P'), now.to_server.of_type(b'E')));
    }
    assert_eq!(rounds, [(2, 1, 1), (1, 0, 1)]);

    let before = proxy.traffic();
    client.close().await.unwrap();
    proxy.wait_until(|traffic| traffic.to_server.of_type(b'X') == 1).await;
    assert_eq!(proxy.traffic().since(&before).round_trips, 0);
}

/// The server has done it, the client will never know.
#[tokio::test]
async fn an_answer_is_lost_after_the_work_is_done() {
    let (proxy, database) = proxied().await;
    database.run_as_owner("create table t(); grant insert on t to app").await;
    let mut client = connect(&database.app_options()).await;
    proxy.stall(Direction::ToClient);
    let writing = tokio::spawn(async move { client.execute("insert into t default values").await });
    proxy.wait_until(|traffic| traffic.to_client.held > 0).await;
    proxy.close();
    assert!(writing.await.unwrap().is_err());
    proxy.resume();
    let mut superuser = connect(&database.superuser_options()).await;
    assert_eq!(text(&mut superuser, "select count(*) from t").await, "1");
}

/// One message, and no byte of the next: which is where a half-read answer begins.
#[tokio::test]
async fn an_answer_is_cut_between_two_messages() {
    let (proxy, database) = proxied().await;
    let mut client = connect(&database.app_options()).await;
    let before = proxy.traffic();
    proxy.plan(Direction::ToClient, After::Messages(2), Fault::Stall);
    let asking = tokio::spawn(async move { text(&mut client, "select 1").await });
    // A row description and a row; the end of the statement and "ready" are held.
    proxy.wait_until(|traffic| traffic.to_client.held > 0 && traffic.since(&before).to_client.messages() == 2).await;
    let now = proxy.traffic().since(&before);
    assert_eq!(["TDCZ".bytes().map(|byte| now.to_client.of_type(byte)).collect::<Vec<_>>()], [[1, 1, 0, 0]]);
    assert!(!asking.is_finished());
    proxy.resume();
    assert_eq!(asking.await.unwrap(), "1");
}

#[tokio::test]
async fn a_server_on_loopback_can_be_behind_it_too() {
    let server = ThrowawayPostgres::start_with(&ServerOptions::new().loopback()).await.unwrap();
    let database = server.fresh_database().await;
    let (proxy, behind) = database.through_port(database.port()).behind_a_proxy().await;
    assert_eq!(text(&mut connect(&behind.app_options()).await, "select host(inet_server_addr())").await, "127.0.0.1");
    proxy.reset();
    assert!(proxy.traffic().round_trips > 0);
}
