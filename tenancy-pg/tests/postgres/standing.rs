//! Deadlines, suspensions and a directory that is asked again, while work goes on.

use std::time::Duration;

use futures_util::TryStreamExt;
use sqlx::Executor;
use tenancy_core::Denial;
use tenancy_pg::PgError;

use crate::common::World;

#[tokio::test]
async fn a_passed_deadline_stops_at_each_step() {
    let tenants = tenancy_testkit::TestTenants::builder().clock().build().await;
    let world = World { tenants, ..World::new().await };
    // Rows of lives that this realm does not know; the walls are what is tested here.
    let database = world.open().await;
    let late = || world.tenants.clock().advance(Duration::from_secs(3600));

    let acme = world.scoped(&database, "acme").await;
    let mut statement = acme.begin().await.unwrap();
    sqlx::query("select 1").execute(&mut statement).await.unwrap();
    late();
    let error = sqlx::query("select 1").execute(&mut statement).await.unwrap_err();
    assert_eq!(Denial::of(&error), Some(Denial::DeadlinePassed));
    let ended = sqlx::query("select 1").execute(&mut statement).await.unwrap_err();
    assert!(matches!(PgError::from(ended), PgError::Interrupted));

    let acme = world.scoped(&database, "acme").await;
    let mut tx = acme.begin().await.unwrap();
    sqlx::query("select 1").execute(&mut tx).await.unwrap();
    late();
    let error = tx.commit().await.unwrap_err();
    assert_eq!(error.denial(), Some(Denial::DeadlinePassed));

    let acme = world.scoped(&database, "acme").await;
    let mut rows = sqlx::query("select generate_series(1, 1000)").fetch(&acme);
    let mut seen = 0;
    let error = loop {
        match rows.try_next().await {
            Ok(Some(_)) if seen == 10 => {
                seen += 1;
                late();
            }
            Ok(Some(_)) => seen += 1,
            Ok(None) => panic!("the stream went on"),
            Err(error) => break error,
        }
    };
    assert!(seen < 200, "{seen}");
    assert_eq!(Denial::of(&error), Some(Denial::DeadlinePassed));
    drop(rows);

    let acme = world.scoped(&database, "acme").await;
    late();
    assert_eq!(acme.begin().await.unwrap_err().denial(), Some(Denial::DeadlinePassed));
    assert_eq!(acme.read().await.unwrap_err().denial(), Some(Denial::DeadlinePassed));
    let rules = world.tenants.audit().await;
    let denied: u64 = rules.iter().filter(|r| r.rule() == Some("deadline.passed")).map(|r| r.count()).sum();
    assert_eq!(denied, 5);
}

/// A directory that answers, and a clock whose steps are longer than its answers last.
async fn with_a_clock() -> (World, impl Fn(&World)) {
    let tenants = tenancy_testkit::TestTenants::builder().clock().build().await;
    let later = |world: &World| world.tenants.clock().advance(Duration::from_secs(6));
    (World { tenants, ..World::new().await }, later)
}

const LONG: &str = "insert into note (id, tenant_id, body) values ($1, $2, 'long')";

#[tokio::test]
async fn work_that_takes_longer_than_the_fence_goes_on_while_the_directory_answers() {
    let (world, later) = with_a_clock().await;
    let database = world.open().await;
    let own = world.life("acme").uuid();
    let acme = world.scoped(&database, "acme").await;

    let mut tx = acme.begin().await.unwrap();
    later(&world);
    sqlx::query(LONG).bind(100).bind(own).execute(&mut tx).await.unwrap();
    later(&world);
    (&mut tx).prepare(sqlx::SqlStr::from_static("select 1")).await.unwrap();
    later(&world);
    tx.commit().await.unwrap();
    assert_eq!(world.rows_in_truth("body = 'long'").await, 1);

    let acme = world.scoped(&database, "acme").await;
    for (what, sql, rows, fails) in [
        ("rows of many batches", "select generate_series(1, 1000)", 1000, None),
        ("a failure before the next check", "select 1 / (60 - n) from generate_series(1, 60) n", 59, Some("22012")),
    ] {
        let mut stream = sqlx::query(sql).fetch(&acme);
        let mut seen = 0;
        let ended = loop {
            match stream.try_next().await {
                Ok(Some(_)) => seen += 1,
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
            if seen == 10 {
                later(&world);
            }
        };
        assert_eq!(seen, rows, "{what}: {ended:?}");
        let code = ended.as_ref().and_then(|e| e.as_database_error()).and_then(|e| e.code());
        assert_eq!(code.as_deref(), fails, "{what}: {ended:?}");
    }
    assert!(world.tenants.denied_rules().await.is_empty());
}

#[tokio::test]
async fn a_tenant_that_is_suspended_during_long_work_commits_nothing() {
    let (world, later) = with_a_clock().await;
    let database = world.open().await;
    let own = world.life("acme").uuid();
    // The directory says so and nobody hints at it: that its answers don't last must be enough.
    let acme_id = tenancy_core::TenantId::parse("acme").unwrap();
    let stop = || {
        world.tenants.directory().suspend(&acme_id).unwrap();
        later(&world);
    };
    let begun = async || {
        world.tenants.directory().resume(&acme_id).unwrap();
        later(&world);
        world.scoped(&database, "acme").await
    };

    let acme = begun().await;
    let mut tx = acme.begin().await.unwrap();
    sqlx::query(LONG).bind(100).bind(own).execute(&mut tx).await.unwrap();
    stop();
    let at_commit = tx.commit().await.unwrap_err();
    assert_eq!(at_commit.denial(), Some(Denial::TenantSuspended));

    let acme = begun().await;
    let mut tx = acme.begin().await.unwrap();
    sqlx::query(LONG).bind(101).bind(own).execute(&mut tx).await.unwrap();
    stop();
    let at_statement = sqlx::query(LONG).bind(102).bind(own).execute(&mut tx).await.unwrap_err();
    assert_eq!(Denial::of(&at_statement), Some(Denial::TenantSuspended));
    assert!(matches!(tx.commit().await, Err(PgError::Interrupted)));

    let acme = begun().await;
    let mut rows = sqlx::query("select generate_series(1, 1000)").fetch(&acme);
    assert!(rows.try_next().await.unwrap().is_some());
    stop();
    let mut seen = 1;
    let in_rows = loop {
        match rows.try_next().await {
            Ok(Some(_)) => seen += 1,
            Ok(None) => panic!("the stream went on"),
            Err(error) => break error,
        }
    };
    assert!(seen < 200, "{seen}");
    assert_eq!(Denial::of(&in_rows), Some(Denial::TenantSuspended));
    drop(rows);

    assert_eq!(world.rows_in_truth("body = 'long'").await, 0);
    let audit = world.tenants.audit().await;
    assert!(audit.iter().all(|record| record.outcome().as_str() != "changed"));
    let denied: u64 = audit.iter().filter(|r| r.rule() == Some("tenant.suspended")).map(|r| r.count()).sum();
    assert_eq!(denied, 3);
}
