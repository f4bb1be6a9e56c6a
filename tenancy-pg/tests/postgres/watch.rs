//! A database that goes bad while the service runs.

use std::time::Duration;

use sqlx::Connection;
use sqlx::postgres::PgConnection;
use tenancy_pg::{Database, OnFailure, PgError, PgOptions, Pooler};
use tenancy_testkit::{PgBouncerOptions, PoolMode, ThrowawayPgBouncer};

use crate::common::{ACME, World, bodies};

const EVERY: Duration = Duration::from_millis(20);

impl World {
    async fn alarms(&self, rule: &str) -> u64 {
        let records = self.tenants.audit().await;
        records.iter().filter(|r| r.rule() == Some(rule)).map(|r| r.count()).sum()
    }

    async fn alarmed(&self, rule: &str, more_than: u64) {
        for _wait in 0..500 {
            if self.alarms(rule).await > more_than {
                return;
            }
            tokio::time::sleep(EVERY).await;
        }
        panic!("no alarm of {rule}");
    }
}

#[tokio::test]
async fn a_schema_that_goes_bad_is_refused_until_it_is_mended() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let watch = database.watch(EVERY, OnFailure::Refuse);
    assert_eq!(bodies(&acme).await, ACME);
    for (what, breaks, mends) in [
        ("not forced", "alter table note no force row level security", "alter table note force row level security"),
        ("off", "alter table note disable row level security", "alter table note enable row level security"),
        ("another policy", "create policy mine on note using (true)", "drop policy mine on note"),
        ("an undeclared table", "create table more (id int); grant select on more to app", "drop table more"),
        (
            "a nullable column",
            "alter table note alter tenant_id drop not null",
            "alter table note alter tenant_id set not null",
        ),
    ] {
        let before = world.alarms("pg.inspection").await;
        world.server.run_as_owner(breaks).await;
        world.alarmed("pg.inspection", before).await;
        let refused = acme.begin().await.unwrap_err();
        assert!(matches!(refused, PgError::Inspection(_)), "{what}: {refused:?}");
        world.server.run_as_owner(mends).await;
        let mut served = false;
        for _wait in 0..500 {
            served = acme.read().await.is_ok();
            if served {
                break;
            }
            tokio::time::sleep(EVERY).await;
        }
        assert!(served, "{what}: mended");
    }
    drop(watch);
    let before = world.alarms("pg.inspection").await;
    world.server.run_as_owner("alter table note no force row level security").await;
    let mut superuser = PgConnection::connect_with(&world.server.superuser_options()).await.unwrap();
    sqlx::query("select pg_sleep(0.3)").execute(&mut superuser).await.unwrap();
    assert_eq!(world.alarms("pg.inspection").await, before, "nobody looks any more");
    assert_eq!(bodies(&acme).await, ACME);
}

#[tokio::test]
async fn an_alarm_is_on_record_and_the_service_goes_on() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let _watch = database.watch(EVERY, OnFailure::Alarm);
    world.server.run_as_owner("alter table note no force row level security").await;
    world.alarmed("pg.inspection", 0).await;
    assert_eq!(bodies(&acme).await, ACME);
    let name = world.server.name().to_owned();
    world.server.run(&format!("alter database {name} connection limit 0")).await;
    world.alarmed("pg.unreachable", 0).await;
    world.server.run(&format!("alter database {name} connection limit -1")).await;
    assert_eq!(bodies(&acme).await, ACME);
}

#[tokio::test]
async fn a_pooler_that_is_turned_over_is_refused() {
    let world = World::new().await;
    let bouncer = PgBouncerOptions::new(PoolMode::Session).pool_size(12);
    let bouncer = ThrowawayPgBouncer::start(&world.server, &bouncer).await.unwrap();
    let options = PgOptions::new(bouncer.database().app_options()).pooler(Pooler::Session).max_connections(1);
    let database = Database::open(world.tenants.realm(), options, &world.declaration).await.unwrap();
    let acme = world.scoped(&database, "acme").await;
    assert_eq!(bodies(&acme).await, ACME);
    let _watch = database.watch(EVERY, OnFailure::Refuse);
    let mut console = PgConnection::connect_with(&bouncer.console_options().extra_float_digits(None)).await.unwrap();
    sqlx::raw_sql("set pool_mode = transaction").execute(&mut console).await.unwrap();
    world.alarmed("pg.pooler", 0).await;
    let refused = acme.begin().await.unwrap_err();
    assert!(matches!(refused, PgError::PoolerMismatch), "{refused:?}");
}
