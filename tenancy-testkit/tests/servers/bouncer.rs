//! The throwaway pooler.

use sqlx::Connection;
use tenancy_testkit::{PgBouncerOptions, PoolMode, TestDatabase, ThrowawayPgBouncer, ThrowawayPostgres};

use crate::{connect, processes_of, text};

async fn pooled(options: &PgBouncerOptions) -> (TestDatabase, ThrowawayPgBouncer) {
    let database = ThrowawayPostgres::shared().await.fresh_database().await;
    let pooler = ThrowawayPgBouncer::start(&database, options).await.unwrap();
    (database, pooler)
}

const PID: &str = "select pg_backend_pid()";

#[tokio::test]
async fn transaction_mode_lends_one_backend_to_two_clients() {
    let (_, pooler) = pooled(&PgBouncerOptions::new(PoolMode::Transaction).pool_size(1)).await;
    let mut one = connect(&pooler.database().app_options()).await;
    let mut two = connect(&pooler.database().app_options()).await;
    assert_eq!(text(&mut one, PID).await, text(&mut two, PID).await);
    // What one says about its session, the other finds.
    text(&mut one, "set work_mem = '6MB'; select 1").await;
    assert_eq!(text(&mut two, "show work_mem").await, "6MB");
}

#[tokio::test]
async fn transaction_mode_moves_a_client_that_comes_back() {
    let (_, pooler) = pooled(&PgBouncerOptions::new(PoolMode::Transaction).pool_size(2)).await;
    let mut one = connect(&pooler.database().app_options()).await;
    let mut two = connect(&pooler.database().app_options()).await;
    let before = text(&mut one, PID).await;
    assert_eq!(text(&mut two, &format!("begin; {PID}")).await, before);
    assert_ne!(text(&mut one, PID).await, before);
}

#[tokio::test]
async fn session_mode_keeps_a_backend_for_each_client() {
    let (_, pooler) = pooled(&PgBouncerOptions::new(PoolMode::Session).pool_size(2)).await;
    let mut one = connect(&pooler.database().app_options()).await;
    let mut two = connect(&pooler.database().app_options()).await;
    let (first, second) = (text(&mut one, PID).await, text(&mut two, PID).await);
    assert_ne!(first, second);
    one.close().await.unwrap();
    assert_eq!(text(&mut two, PID).await, second);
    let mut three = connect(&pooler.database().app_options()).await;
    assert_eq!(text(&mut three, PID).await, first);
}

#[tokio::test]
async fn statement_mode_refuses_a_transaction() {
    let (_, pooler) = pooled(&PgBouncerOptions::new(PoolMode::Statement)).await;
    let mut client = connect(&pooler.database().app_options()).await;
    text(&mut client, PID).await;
    assert!(sqlx::raw_sql("begin").execute(&mut client).await.is_err());
}

#[tokio::test]
async fn every_role_is_itself_also_one_made_later_and_on_loopback() {
    let (database, pooler) = pooled(&PgBouncerOptions::new(PoolMode::Session).loopback()).await;
    let role = format!("late_{}", database.name());
    database.run(&format!("create role {role} login")).await;
    for role in ["own", "app", "control", &role] {
        let mut client = connect(&pooler.database().options(role)).await;
        assert_eq!(text(&mut client, "select current_user").await, role);
    }
    // A role that the server doesn't have can't enter.
    assert!(sqlx::PgConnection::connect_with(&pooler.database().options("nobody_here")).await.is_err());
    assert_eq!(pooler.database().name(), database.name());
}

#[tokio::test]
async fn a_startup_parameter_is_refused_unless_it_is_to_be_ignored() {
    let (_, strict) = pooled(&PgBouncerOptions::new(PoolMode::Transaction)).await;
    let with = |pooler: &ThrowawayPgBouncer| pooler.database().app_options().options([("work_mem", "7MB")]);
    assert!(sqlx::PgConnection::connect_with(&with(&strict)).await.is_err());
    let ignoring = PgBouncerOptions::new(PoolMode::Transaction)
        .setting("ignore_startup_parameters", "extra_float_digits, options");
    let (_, lax) = pooled(&ignoring).await;
    assert_ne!(text(&mut connect(&with(&lax)).await, "show work_mem").await, "7MB");
}

#[tokio::test]
async fn a_dropped_pooler_is_gone_and_its_server_is_not() {
    let (database, pooler) = pooled(&PgBouncerOptions::new(PoolMode::Transaction)).await;
    let socket = pooler.database().socket().unwrap();
    let directory = socket.parent().unwrap();
    assert!(processes_of(directory) > 0);
    let mut client = connect(&pooler.database().app_options()).await;
    text(&mut client, PID).await;
    drop(pooler);
    assert!(processes_of(directory) == 0 && !directory.exists());
    assert!(client.ping().await.is_err());
    text(&mut connect(&database.app_options()).await, PID).await;
}
