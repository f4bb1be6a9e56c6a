//! The throwaway server.

use tenancy_testkit::{ServerOptions, ThrowawayPostgres};

use crate::{connect, processes_of, text};

#[tokio::test]
async fn a_dropped_server_is_gone_with_its_directory() {
    let server = ThrowawayPostgres::start().await.unwrap();
    let directory = server.directory().to_owned();
    assert!(processes_of(&directory) > 0 && directory.exists());
    drop(server);
    assert!(processes_of(&directory) == 0 && !directory.exists());
}

#[tokio::test]
async fn a_panic_takes_the_server_with_it() {
    let server = ThrowawayPostgres::start().await.unwrap();
    let directory = server.directory().to_owned();
    assert!(processes_of(&directory) > 0);
    let panicked = tokio::spawn(async move {
        let _server = server;
        panic!("the test failed");
    });
    assert!(panicked.await.unwrap_err().is_panic());
    assert!(processes_of(&directory) == 0 && !directory.exists());
}

#[tokio::test]
async fn its_plain_roles_are_plain() {
    let server = ThrowawayPostgres::shared().await;
    let sql = "select count(*) from pg_roles where rolname in ('own', 'app', 'control') and rolcanlogin
               and not (rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication)";
    assert_eq!(text(&mut connect(&server.superuser_options()).await, sql).await, "3");
}

#[tokio::test]
async fn a_server_on_loopback_answers_there_and_takes_settings() {
    let options = ServerOptions::new().loopback().setting("work_mem", "5MB");
    let server = ThrowawayPostgres::start_with(&options).await.unwrap();
    let database = server.fresh_database().await;
    let there = database.through_port(database.port());
    let sql = "select concat_ws(' ', host(inet_server_addr()), current_database(), current_user,
                                current_setting('work_mem'))";
    let want = format!("127.0.0.1 {} app 5MB", database.name());
    assert_eq!(text(&mut connect(&there.app_options()).await, sql).await, want);
    let by_url = there.url("app").parse().unwrap();
    assert_eq!(text(&mut connect(&by_url).await, sql).await, want);
}

/// Debian's package has none; the servers that `cargo xtask test` fetches do.
#[tokio::test]
async fn its_extensions_can_be_loaded() {
    let database = ThrowawayPostgres::shared().await.fresh_database().await;
    let mut superuser = connect(&database.superuser_options()).await;
    let offered = "select count(*) from pg_available_extensions where name = 'vector'";
    let sql = match text(&mut superuser, offered).await.as_str() {
        "1" => "create extension vector; select '[1,2]'::vector <-> '[1,4]'",
        _ => "select 2",
    };
    assert_eq!(text(&mut superuser, sql).await, "2");
}
