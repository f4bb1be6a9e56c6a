//! Reports in hand: when they end, and what they leave.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use sqlx::AssertSqlSafe;
use tenancy_core::{Reach, TenantId};
use tenancy_pg::{PgError, PgOptions};
use tenancy_testkit::{Fault, TestTenants, drop_at_every_poll};

use crate::reports::{ACME, ALL, GLOBEX, Reporting, grant, ids};

#[tokio::test]
async fn a_database_without_a_reporting_role_has_no_reports() {
    let world = Reporting::plain().await;
    let options = PgOptions::new(world.server.app_options());
    let database = world.open_with(options).await.unwrap();
    let every = world.grant(Reach::Every).await;
    assert!(matches!(database.across(&every).await, Err(PgError::NoReports)));
    assert!(world.open().await.across(&every).await.is_ok());
}

/// Each before the reports are there, and while they are in hand.
#[tokio::test]
async fn a_grant_that_is_over_reads_nothing_more() {
    let acme = || Reach::One(TenantId::parse("acme").unwrap());
    type Over = fn(&TestTenants, &tenancy_core::CrossTenantGrant);
    let cases: [(&str, Reach, Over, &str); 6] = [
        ("expired, one", acme(), |tenants, _| tenants.clock().advance(Duration::from_secs(601)), "grant.expired"),
        (
            "expired, every",
            Reach::Every,
            |tenants, _| tenants.clock().advance(Duration::from_secs(601)),
            "grant.expired",
        ),
        ("revoked, one", acme(), |_, grant| grant.revoke(), "grant.revoked"),
        ("revoked, every", Reach::Every, |_, grant| grant.revoke(), "grant.revoked"),
        ("the tenant is suspended", acme(), |tenants, _| tenants.suspend("acme"), "tenant.suspended"),
        ("the tenant is erased", acme(), |tenants, _| tenants.erase("acme"), "tenant.erased"),
    ];
    for (what, reach, over, rule) in cases {
        let world = Reporting::new(None, TestTenants::builder().clock().build().await).await;
        let database = world.open().await;
        let grant = world.grant(reach).await;
        let reports = database.across(&grant).await.unwrap();
        assert!(!ids(&reports).await.is_empty(), "{what}: before");
        let mut tx = reports.read().await.unwrap();
        let many = "select n.id from note n, generate_series(1, 100000)";
        over(&world.tenants, &grant);
        // The answer about a tenant's standing is believed for some seconds.
        if !rule.starts_with("grant") {
            world.tenants.clock().advance(Duration::from_secs(6));
        }
        let denied = |error: sqlx::Error| PgError::from(error).denial().map(|denial| denial.rule());
        let refused = sqlx::query(AssertSqlSafe(many)).fetch_all(&mut tx).await.unwrap_err();
        assert_eq!(denied(refused), Some(rule), "{what}: in a transaction that was open");
        assert!(matches!(tx.end().await, Err(PgError::Interrupted)), "{what}: which has ended");
        let refused = sqlx::query("select id from note").fetch_all(&reports).await.unwrap_err();
        assert_eq!(denied(refused), Some(rule), "{what}: a statement");
        assert_eq!(reports.read().await.unwrap_err().denial().unwrap().rule(), rule, "{what}: a transaction");
        assert_eq!(database.across(&grant).await.unwrap_err().denial().unwrap().rule(), rule, "{what}: anew");
        let records = world.tenants.audit().await;
        let denials: u64 = records.iter().filter(|r| r.rule() == Some(rule)).map(|r| r.count()).sum();
        assert!(denials >= 4, "{what}: {denials} on record");
    }
}

#[tokio::test]
async fn a_stream_ends_when_the_grant_does() {
    let world = Reporting::plain().await;
    let database = world.open().await;
    let every = world.grant(Reach::Every).await;
    let reports = database.across(&every).await.unwrap();
    let mut rows = sqlx::query("select n.id from note n, generate_series(1, 100000)").fetch(&reports);
    assert!(rows.next().await.unwrap().is_ok());
    every.revoke();
    let ended = loop {
        match rows.next().await.expect("an error ends it, not the last row") {
            Ok(_row) => {}
            Err(error) => break PgError::from(error),
        }
    };
    assert_eq!(ended.denial().unwrap().rule(), "grant.revoked");
}

#[tokio::test]
async fn the_server_stops_what_the_grant_has_no_time_for() {
    let world = Reporting::plain().await;
    let database = world.open().await;
    let short = grant(&world.tenants, Reach::Every, Duration::from_secs(2)).await;
    let reports = database.across(&short).await.unwrap();
    assert_eq!(ids(&reports).await, ALL);
    let began = Instant::now();
    let ended = sqlx::query("select pg_sleep(60)").fetch_all(&reports).await.unwrap_err();
    assert_eq!(PgError::from(ended).denial().unwrap().rule(), "grant.expired");
    assert!(began.elapsed() < Duration::from_secs(30));
    let running = "select count(*) from pg_stat_activity where query like 'select pg_sleep(60)%' and state = 'active'
                   and usename = 'reports' and datname = current_database()";
    assert_eq!(crate::common::scalar(&world.server.superuser_options(), running).await, 0, "nothing runs on");
}

#[tokio::test]
async fn a_grant_of_another_realm_and_a_tenant_nobody_can_ask_about_are_refused() {
    let world = Reporting::plain().await;
    let database = world.open().await;
    let elsewhere = TestTenants::builder().realm("elsewhere").build().await;
    for reach in [Reach::One(TenantId::parse("acme").unwrap()), Reach::Every] {
        let foreign = grant(&elsewhere, reach, Duration::from_secs(60)).await;
        assert_eq!(database.across(&foreign).await.unwrap_err().denial().unwrap().rule(), "scope.foreign_realm");
    }
    let (acme, every) = (world.one("acme").await, world.grant(Reach::Every).await);
    world.tenants.faults().set(Fault::Error);
    assert_eq!(database.across(&acme).await.unwrap_err().denial().unwrap().rule(), "directory.unavailable");
    world.tenants.faults().set(Fault::None);
    assert!(database.across(&acme).await.is_ok());
    world.tenants.realm().close().await.unwrap();
    assert_eq!(database.across(&every).await.unwrap_err().denial().unwrap().rule(), "realm.closed");
}

/// On a pool of one, whoever is next: the other tenant, every one, and again.
#[tokio::test]
async fn a_future_dropped_after_any_poll_leaves_the_next_report_its_own_reach() {
    for world in [Reporting::plain().await, Reporting::signed().await] {
        let database = world.open().await;
        let (acme, globex) = (world.one("acme").await, world.one("globex").await);
        let every = world.grant(Reach::Every).await;
        let (of_acme, of_globex) = (database.across(&acme).await.unwrap(), database.across(&globex).await.unwrap());
        let all = database.across(&every).await.unwrap();
        let clean = async |what: &str, polls: usize| {
            let what = format!("{what}, dropped after poll {polls}");
            assert_eq!(ids(&of_globex).await, GLOBEX, "{what}");
            let left: (String, String, String) = sqlx::query_as(
                "select current_setting('tenancy.reach', true), current_setting('tenancy.row_key', true),
                        current_setting('transaction_read_only')",
            )
            .fetch_one(&of_acme)
            .await
            .unwrap();
            let row_key =
                if world.key.is_some() { String::new() } else { world.tenants.life("acme").uuid().to_string() };
            assert_eq!(left, (String::new(), row_key, "on".to_owned()), "{what}");
            assert_eq!(ids(&of_acme).await, ACME, "{what}");
        };
        let polls = drop_at_every_poll(
            || all.read(),
            async |k, tx| {
                drop(tx);
                clean("read", k).await
            },
        )
        .await;
        assert!(polls > 1);
        drop_at_every_poll(|| ids(&all), async |k, _| clean("a statement", k).await).await;
        drop_at_every_poll(
            || async {
                let mut tx = all.read().await.unwrap();
                let _ids: Vec<i32> = sqlx::query_scalar("select id from note").fetch_all(&mut tx).await.unwrap();
                tx.end().await.unwrap();
            },
            async |k, _| clean("a transaction", k).await,
        )
        .await;
        drop_at_every_poll(
            || async {
                let mut tx = all.read().await.unwrap();
                let mut rows = sqlx::query("select id from note").fetch(&mut tx);
                while let Some(row) = rows.next().await {
                    row.unwrap();
                }
            },
            async |k, _| clean("a stream", k).await,
        )
        .await;
        drop_at_every_poll(
            || database.across(&every),
            async |k, reports| {
                drop(reports);
                clean("across", k).await
            },
        )
        .await;
        drop_at_every_poll(
            || async { sqlx::query("select 1 / 0").fetch_all(&all).await.unwrap_err() },
            async |k, _| clean("a statement that fails", k).await,
        )
        .await;
        assert_eq!(ids(&all).await, ALL);
    }
}
