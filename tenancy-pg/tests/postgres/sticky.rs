//! Connections that are kept for the tenant that used them last.

use std::time::Duration;

use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor};
use tenancy_core::Denial;
use tenancy_pg::{Database, Inspected, Mode, PgError, PgOptions, Pooler, TenantDb, danger};

use crate::common::{ACME, GLOBEX, World, bodies, scalar, smuggled};

impl World {
    async fn sticky(&self, most: u32, per_tenant: u32) -> Database<Inspected> {
        let options = PgOptions::new(self.server.app_options());
        let options = options.max_connections(most).mode(Mode::Sticky).sticky(per_tenant);
        Database::open(self.tenants.realm(), options, &self.declaration).await.unwrap()
    }

    async fn breaches_and_unproven(&self) -> (u64, u64) {
        let records = self.tenants.audit().await;
        let of = |rule| records.iter().filter(|r| r.rule() == Some(rule)).map(|r| r.count()).sum();
        (of("store.breach"), of("pg.unproven"))
    }
}

async fn backend(db: &TenantDb) -> i32 {
    sqlx::query_scalar("select pg_backend_pid()").fetch_one(db).await.unwrap()
}

/// What a pool of one shows one after the other, also when each follows the other at once.
#[tokio::test]
async fn a_kept_connection_shows_each_tenant_its_own_rows() {
    let world = World::new().await;
    for (most, per_tenant) in [(1, 2), (2, 1), (4, 2), (3, 0)] {
        let database = world.sticky(most, per_tenant).await;
        let (acme, globex) = (world.scoped(&database, "acme").await, world.scoped(&database, "globex").await);
        for _round in 0..6 {
            assert_eq!(bodies(&acme).await, ACME);
            assert_eq!(bodies(&acme).await, ACME);
            assert_eq!(bodies(&globex).await, GLOBEX);
            let nobody: i64 =
                sqlx::query_scalar("select count(*) from note").fetch_one(&database.untenanted()).await.unwrap();
            assert_eq!(nobody, 0);
            let (one, two, three) = tokio::join!(bodies(&acme), bodies(&globex), bodies(&acme));
            assert_eq!(
                (one, two, three),
                (
                    ACME.map(str::to_owned).to_vec(),
                    GLOBEX.map(str::to_owned).to_vec(),
                    ACME.map(str::to_owned).to_vec()
                )
            );
            let mut tx = globex.begin().await.unwrap();
            let changed = sqlx::query("update note set body = body").execute(&mut tx).await.unwrap();
            assert_eq!(changed.rows_affected(), 3);
            tx.commit().await.unwrap();
            let changed = sqlx::query("update note set body = body").execute(&acme).await.unwrap();
            assert_eq!(changed.rows_affected(), 2);
        }
        assert_eq!(world.breaches_and_unproven().await, (0, 0));
        database.close().await;
    }
}

#[tokio::test]
async fn a_tenant_comes_back_to_its_own_connection_and_others_take_it_over_clean() {
    let world = World::new().await;
    let database = world.sticky(2, 1).await;
    let (acme, globex) = (world.scoped(&database, "acme").await, world.scoped(&database, "globex").await);
    // A visit is read back behind the scenes; one that comes before that is done goes elsewhere.
    let (mut before, mut came_back) = ((0, 0), 0);
    for _visit in 0..200 {
        scalar(&world.server.superuser_options(), "select 1::bigint").await;
        let now = (backend(&acme).await, backend(&globex).await);
        came_back += i32::from(now == before);
        before = now;
    }
    assert!(came_back > 20, "{came_back} of 200");
    // One is held: acme moves in where globex may be at home.
    let mut held = acme.begin().await.unwrap();
    let there: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut held).await.unwrap();
    for _again in 0..3 {
        assert_ne!(backend(&acme).await, there);
        assert_eq!(bodies(&acme).await, ACME);
        assert_eq!(bodies(&globex).await, GLOBEX);
    }
    held.rollback().await.unwrap();
    assert_eq!(bodies(&globex).await, GLOBEX);
    assert_eq!(world.breaches_and_unproven().await, (0, 0));
}

/// A transaction whose setting ends early falls back to the session's: it must not be that of whoever was at home.
#[tokio::test]
async fn a_transaction_that_ends_early_does_not_fall_back_to_who_lived_here() {
    let world = World::new().await;
    let database = world.sticky(1, 1).await;
    let (acme, globex) = (world.scoped(&database, "acme").await, world.scoped(&database, "globex").await);
    assert_eq!(bodies(&acme).await, ACME);
    let home = backend(&acme).await;
    let mut tx = globex.begin().await.unwrap();
    let raw = danger::connection(&mut tx, "a test of what a transaction falls back to").await.unwrap();
    let here: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut *raw).await.unwrap();
    assert_eq!(here, home, "acme was at home on this one");
    let own: Vec<String> = sqlx::query_scalar("select body from note order by id").fetch_all(&mut *raw).await.unwrap();
    assert_eq!(own, GLOBEX);
    raw.execute("commit").await.unwrap();
    let after: Vec<String> = sqlx::query_scalar("select body from note").fetch_all(&mut *raw).await.unwrap();
    assert_eq!(after, Vec::<String>::new());
}

/// What a statement by itself may try to leave for the next visit of its own tenant, or of another.
#[tokio::test]
async fn what_a_visit_leaves_is_found_out_or_cleaned_away() {
    let world = World::new().await;
    let name = world.server.name().to_owned();
    let other = format!("other_{name}");
    world
        .server
        .run(&format!("create role {other}; grant {other} to app; grant temporary on database {name} to app"))
        .await;
    world
        .server
        .run_as_owner("create function run(text) returns int language plpgsql as $$ begin execute $1; return 1; end $$")
        .await;
    let database = world.sticky(1, 1).await;
    let (acme, globex) = (world.scoped(&database, "acme").await, world.scoped(&database, "globex").await);
    let victim = world.life("globex").uuid();
    let mut expected = 0;
    for (what, sql, breach) in [
        ("the setting", format!("set \"tenancy.row_key\" = '{victim}'"), true),
        ("no setting", "reset \"tenancy.row_key\"".to_owned(), true),
        ("a role", format!("set role {other}"), true),
        ("a search path", "set search_path = pg_temp".to_owned(), false),
        ("a read-only session", "set default_transaction_read_only = on".to_owned(), false),
        ("a time-out", "set statement_timeout = 1".to_owned(), false),
        (
            "a temporary table in front of the real one",
            "create temp table note as select 1 as id, 'stolen' as body".to_owned(),
            false,
        ),
        ("a prepared statement", "prepare mine as select 1".to_owned(), false),
        (
            "a cursor that outlives its transaction",
            "declare kept cursor with hold for select * from note".to_owned(),
            false,
        ),
        ("a lock of the session", "select pg_advisory_lock(42)".to_owned(), false),
        ("LISTEN", "listen channel".to_owned(), false),
        ("the driver's statements, gone", "deallocate all".to_owned(), false),
    ] {
        assert_eq!(bodies(&acme).await, ACME, "{what}: before");
        let ran = sqlx::query_scalar::<_, i32>("select run($1)").bind(&sql).fetch_one(&acme).await;
        assert!(ran.is_ok(), "{what}: it answers before it is checked: {ran:?}");
        expected += u64::from(breach);
        if sql == "deallocate all" {
            // What no command undoes is its own until another tenant moves in, and the driver finds out.
            sqlx::query("select body from note order by id").fetch_all(&acme).await.unwrap_err();
        }
        assert_eq!(bodies(&acme).await, ACME, "{what}: its own next visit");
        let _left = sqlx::query_scalar::<_, i32>("select run($1)").bind(&sql).fetch_one(&acme).await;
        expected += u64::from(breach);
        assert_eq!(bodies(&globex).await, GLOBEX, "{what}: another tenant");
        let session: String = sqlx::query_scalar(
            "select concat_ws(' ', current_user, replace(current_setting('search_path'), '\"', ''),
                     current_setting('transaction_read_only'), current_setting('statement_timeout'),
                     (select count(*) from pg_prepared_statements where from_sql), pg_my_temp_schema(),
                     (select count(*) from pg_listening_channels()), (select count(*) from pg_cursors where name <> ''))",
        )
        .fetch_one(&globex)
        .await
        .unwrap();
        assert_eq!(session, "app public, pg_temp off 30s 0 0 0 0", "{what}");
        assert_eq!(world.breaches_and_unproven().await, (expected, 0), "{what}");
    }
    // Past the guard in a transaction, as in the other mode.
    let mut tx = acme.begin().await.unwrap();
    let sql = smuggled(&format!("set \"tenancy.row_key\" = '{victim}'"));
    if sqlx::query(AssertSqlSafe(sql)).execute(&mut tx).await.is_ok() {
        assert_eq!(tx.commit().await.unwrap_err().denial(), Some(Denial::StoreBreach));
    }
    database.close().await;
    world.server.run(&format!("drop role {other}")).await;
}

/// A statement that ends its own session leaves no proof, and says so.
#[tokio::test]
async fn a_visit_without_a_proof_is_on_record() {
    let world = World::new().await;
    let database = world.sticky(1, 1).await;
    let acme = world.scoped(&database, "acme").await;
    assert_eq!(bodies(&acme).await, ACME);
    sqlx::query("select pg_terminate_backend(pg_backend_pid())").execute(&acme).await.unwrap_err();
    assert_eq!(bodies(&acme).await, ACME);
    assert_eq!(world.breaches_and_unproven().await, (0, 1));
    sqlx::query("select 1/0").execute(&acme).await.unwrap_err();
    assert_eq!(bodies(&acme).await, ACME);
    assert_eq!(world.breaches_and_unproven().await, (0, 1), "a statement that failed was proven all the same");
}

/// A connection that died while it was kept costs one statement at most, and none once it has lain for a while.
#[tokio::test]
async fn a_kept_connection_that_died_is_replaced() {
    let world = World::new().await;
    let database = world.sticky(2, 2).await;
    let (acme, globex) = (world.scoped(&database, "acme").await, world.scoped(&database, "globex").await);
    assert_eq!(bodies(&acme).await, ACME);
    let kill = "select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity where usename = 'app' and datname = current_database()";
    assert!(scalar(&world.server.superuser_options(), kill).await >= 1);
    let _may_fail = sqlx::query("select 1").execute(&acme).await;
    assert_eq!(bodies(&acme).await, ACME);
    assert_eq!(bodies(&globex).await, GLOBEX);
    scalar(&world.server.superuser_options(), kill).await;
    let mut superuser = PgConnection::connect_with(&world.server.superuser_options()).await.unwrap();
    superuser.execute("select pg_sleep(1.1)").await.unwrap();
    assert_eq!(bodies(&acme).await, ACME, "it lay for more than a moment, so it was asked first");
    let mut tx = globex.begin().await.unwrap();
    assert_eq!(sqlx::query("select * from note").fetch_all(&mut tx).await.unwrap().len(), 3);
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn kept_connections_are_refused_where_sessions_are_shared() {
    let world = World::new().await;
    let options = world.options().mode(Mode::Sticky);
    let shared = options.clone().pooler(Pooler::Transaction);
    let refused = Database::open(world.tenants.realm(), shared, &world.declaration).await.unwrap_err();
    assert!(matches!(refused, PgError::NeedsSessions), "{refused:?}");
    for pooler in [Pooler::None, Pooler::Session] {
        let database =
            Database::open(world.tenants.realm(), options.clone().pooler(pooler), &world.declaration).await.unwrap();
        assert_eq!(bodies(&world.scoped(&database, "acme").await).await, ACME, "{pooler:?}");
    }
}

/// A context with less time than a statement may take goes by way of a transaction, which can shorten it.
#[tokio::test]
async fn a_short_deadline_is_kept_by_a_transaction() {
    let world = World::new().await;
    let options = world.options().mode(Mode::Sticky).statement_timeout(Duration::from_secs(3600));
    let database = Database::open(world.tenants.realm(), options, &world.declaration).await.unwrap();
    let acme = world.scoped(&database, "acme").await;
    let shown: i64 = sqlx::query_scalar("select setting::bigint from pg_settings where name = 'statement_timeout'")
        .fetch_one(&acme)
        .await
        .unwrap();
    assert!((1..3_600_000).contains(&shown), "{shown}");
}
