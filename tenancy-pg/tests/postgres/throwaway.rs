//! The throwaway server leaves nothing behind.

use tenancy_testkit::ThrowawayPostgres;

fn is_running(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.contains("State:") && !status.contains("State:\tZ")
}

#[tokio::test]
async fn a_dropped_server_is_gone_with_its_directory() {
    let server = ThrowawayPostgres::start().await.unwrap();
    let (pid, directory) = (server.pid().unwrap(), server.directory().to_owned());
    assert!(is_running(pid) && directory.exists());
    drop(server);
    assert!(!is_running(pid) && !directory.exists());
}

#[tokio::test]
async fn a_panic_takes_the_server_with_it() {
    let server = ThrowawayPostgres::start().await.unwrap();
    let (pid, directory) = (server.pid().unwrap(), server.directory().to_owned());
    let panicked = tokio::spawn(async move {
        let _server = server;
        panic!("the test failed");
    });
    assert!(panicked.await.unwrap_err().is_panic());
    assert!(!is_running(pid) && !directory.exists());
}

#[tokio::test]
async fn its_plain_roles_are_plain() {
    let server = ThrowawayPostgres::shared().await;
    let sql = "select count(*) from pg_roles where rolname in ('own', 'app', 'control') and rolcanlogin
               and not (rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication)";
    assert_eq!(crate::common::scalar(&server.superuser_options(), sql).await, 3);
}
