//! Behind a real PgBouncer, in both of its modes (P15).

use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection, Executor, Row};
use tenancy_core::Denial;
use tenancy_pg::{
    Code, Database, InspectPolicy, Inspected, PgError, PgOptions, Pooler, Severity, TenantDb, hardening_sql,
};
use tenancy_testkit::{PgBouncerOptions, PoolMode, TestDatabase, ThrowawayPgBouncer};

use crate::common::{ACME, GLOBEX, World, bodies, smuggled};

async fn bouncer(world: &World, options: PgBouncerOptions) -> ThrowawayPgBouncer {
    ThrowawayPgBouncer::start(&world.server, &options).await.unwrap_or_else(|e| panic!("{e}"))
}

async fn open(
    world: &World,
    through: &TestDatabase,
    pooler: Pooler,
    most: u32,
) -> Result<Database<Inspected>, PgError> {
    let options = PgOptions::new(through.app_options()).pooler(pooler).max_connections(most);
    // What is attacked here is let in: temporary objects, settings, code from text.
    let policy = InspectPolicy::new().hardening(Severity::Warning);
    Database::connect(world.tenants.realm(), options).await?.inspect_with(&world.declaration, policy).await
}

/// Nobody sees who has a shared session next: that nothing can be left on one is all the proof there is.
#[tokio::test]
async fn a_shared_session_needs_a_hardened_database() {
    let world = World::new().await;
    let bouncer = bouncer(&world, PgBouncerOptions::new(PoolMode::Transaction)).await;
    let through = |pooler, options: PgConnectOptions| {
        Database::open(world.tenants.realm(), PgOptions::new(options).pooler(pooler), &world.declaration)
    };
    let shared = || through(Pooler::Transaction, bouncer.database().app_options());
    let Err(PgError::Inspection(report)) = shared().await else { panic!("opened, or refused for something else") };
    let codes: Vec<Code> = report.fatal().map(|finding| finding.code).collect();
    assert_eq!(codes, [Code::LargeObjects, Code::NotHardened]);
    through(Pooler::None, world.server.app_options()).await.unwrap();
    world.server.run(&hardening_sql()).await;
    let database = shared().await.unwrap();
    assert_eq!(bodies(&world.scoped(&database, "acme").await).await, ACME);
}

/// As [`scalar`](crate::common::scalar), with no name left on a session that is everybody's.
async fn unnamed(options: &PgConnectOptions, sql: &'static str) -> i64 {
    let mut connection = PgConnection::connect_with(options).await.unwrap();
    let rows = sqlx::raw_sql(sql).fetch_all(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    rows[0].get(0)
}

/// A session that was looked at is another client's next: no name of ours may be on it.
#[tokio::test]
async fn looking_leaves_no_name_on_a_shared_session() {
    let world = World::new().await;
    let bouncer = bouncer(&world, PgBouncerOptions::new(PoolMode::Transaction).pool_size(1)).await;
    let database = open(&world, bouncer.database(), Pooler::Transaction, 1).await.unwrap();
    let (options, policy) = (PgOptions::new(bouncer.database().app_options()), InspectPolicy::new());
    let options = options.pooler(Pooler::Transaction);
    let named = "select count(*) from pg_prepared_statements";
    for again in 0..3 {
        tenancy_pg::inspect(&options, &world.declaration, policy).await.unwrap();
        assert_eq!(unnamed(&bouncer.database().app_options().extra_float_digits(None), named).await, 0, "{again}");
        tenancy_pg::propose(&options, Some("tenant_id")).await.unwrap();
        assert_eq!(unnamed(&bouncer.database().app_options().extra_float_digits(None), named).await, 0, "{again}");
    }
    assert_eq!(bodies(&world.scoped(&database, "acme").await).await, ACME);
}

/// What a tenant's caller does, over and over, beside the others.
async fn work(world: &World, mine: &TenantDb, tenant: &str, ids: &AtomicI32) {
    let own = world.life(tenant).uuid();
    let expected: &[&str] = if tenant == "acme" { &ACME } else { &GLOBEX };
    for round in 0..12 {
        assert_eq!(bodies(mine).await, expected, "{tenant}, round {round}");
        let id = ids.fetch_add(1, Ordering::Relaxed);
        let mut tx = mine.begin().await.unwrap();
        sqlx::query("insert into note (id, tenant_id, body) values ($1, $2, 'new')")
            .bind(id)
            .bind(own)
            .execute(&mut tx)
            .await
            .unwrap();
        let seen: i64 =
            sqlx::query_scalar("select count(*) from note where id = $1").bind(id).fetch_one(&mut tx).await.unwrap();
        assert_eq!(seen, 1, "{tenant}, round {round}: one transaction, one session");
        match round % 4 {
            0 => tx.rollback().await.unwrap(),
            1 => drop(tx),
            2 => {
                sqlx::query("delete from note where id = $1").bind(id).execute(&mut tx).await.unwrap();
                tx.commit().await.unwrap();
            }
            _failed => {
                sqlx::query("select 1/0").execute(&mut tx).await.unwrap_err();
                assert!(tx.commit().await.is_err());
            }
        }
        let mut read = mine.read().await.unwrap();
        let keys: Vec<uuid::Uuid> =
            sqlx::query_scalar("select distinct tenant_id from note").fetch_all(&mut read).await.unwrap();
        assert_eq!(keys, [own], "{tenant}, round {round}");
        drop(read);
        let foreign = sqlx::query("update note set body = 'x' where tenant_id <> $1").bind(own).execute(mine).await;
        assert_eq!(foreign.unwrap().rows_affected(), 0, "{tenant}, round {round}");
        if round == 5 {
            let stopped = sqlx::query("select pg_sleep(2)").execute(mine);
            assert!(tokio::time::timeout(Duration::from_millis(20), stopped).await.is_err());
        }
    }
}

/// P15 and relatives: more callers than sessions, of two tenants and of nobody, in each mode.
#[tokio::test]
async fn local_is_right_under_concurrency_behind_a_pooler() {
    for (mode, pooler, sessions, most) in [
        (PoolMode::Transaction, Pooler::Transaction, 1, 4),
        (PoolMode::Transaction, Pooler::Transaction, 3, 8),
        (PoolMode::Session, Pooler::Session, 8, 4),
        // Too careful is right too.
        (PoolMode::Session, Pooler::Transaction, 8, 4),
    ] {
        let world = World::new().await;
        let bouncer = bouncer(&world, PgBouncerOptions::new(mode).pool_size(sessions)).await;
        let database = open(&world, bouncer.database(), pooler, most).await.unwrap();
        let ids = AtomicI32::new(1000);
        let (acme, globex) = (world.scoped(&database, "acme").await, world.scoped(&database, "globex").await);
        let nobody = async {
            for _round in 0..12 {
                let globals = database.untenanted();
                let seen: i64 = sqlx::query_scalar("select count(*) from note").fetch_one(&globals).await.unwrap();
                assert_eq!(seen, 0);
            }
        };
        tokio::join!(
            work(&world, &acme, "acme", &ids),
            work(&world, &globex, "globex", &ids),
            work(&world, &acme, "acme", &ids),
            work(&world, &globex, "globex", &ids),
            nobody,
        );
        let prepared = (&acme).prepare(sqlx::SqlStr::from_static("select id, body from note where id = $1")).await;
        assert_eq!(sqlx::Statement::columns(&prepared.unwrap()).len(), 2);
        let prepared = (&globex).prepare(sqlx::SqlStr::from_static("select id from note where id = $1")).await;
        assert_eq!(sqlx::Statement::columns(&prepared.unwrap()).len(), 1);
        database.close().await;
    }
}

/// One session for everybody, and a role that may leave temporary objects and another role on it.
async fn one_shared_session() -> (World, String, ThrowawayPgBouncer, Database<Inspected>) {
    let world = World::new().await;
    let other = format!("other_{}", world.server.name());
    let name = world.server.name().to_owned();
    world
        .server
        .run(&format!("create role {other}; grant {other} to app; grant temporary on database {name} to app"))
        .await;
    let bouncer = bouncer(&world, PgBouncerOptions::new(PoolMode::Transaction).pool_size(1)).await;
    let database = open(&world, bouncer.database(), Pooler::Transaction, 2).await.unwrap();
    (world, other, bouncer, database)
}

/// On a session that is everybody's, what a statement leaves is gone with its transaction.
#[tokio::test]
async fn nothing_is_left_on_a_shared_session() {
    let (world, other, bouncer, database) = one_shared_session().await;
    let (acme, globex) = (world.scoped(&database, "acme").await, world.scoped(&database, "globex").await);
    let victim = world.life("globex").uuid();
    let own = world.life("acme").uuid();
    let before = session(&globex).await;
    assert!(before.contains("UTF8 UTC ISO, MDY"), "{before}");
    for (what, block, breach) in [
        (
            "the setting for the session, under the own one",
            format!(
                "perform set_config('tenancy.row_key', '{victim}', false), set_config('tenancy.row_key', '{own}', true)"
            ),
            false,
        ),
        ("the setting for the session", format!("perform set_config('tenancy.row_key', '{victim}', false)"), true),
        ("a role", format!("set role {other}"), false),
        ("a search path", "set search_path = pg_temp".to_owned(), false),
        ("a read-only session", "set default_transaction_read_only = on".to_owned(), false),
        ("a time zone", "set timezone = 'Asia/Tokyo'".to_owned(), false),
        ("a time-out", "set statement_timeout = 1".to_owned(), false),
        (
            "a temporary table in front of the real one",
            "create temp table note as select 1 as id, 'stolen' as body".to_owned(),
            false,
        ),
        ("a lock of the session", "perform pg_advisory_lock(42)".to_owned(), false),
        ("LISTEN", "execute 'listen channel'".to_owned(), false),
        ("a seed", "perform setseed(0.25)".to_owned(), false),
    ] {
        let sql = smuggled(&format!("do $do$ begin {block}; end $do$"));
        let ended = sqlx::query(AssertSqlSafe(sql)).execute(&acme).await;
        let denied = ended.err().and_then(|e| Denial::of(&e));
        assert_eq!(denied, breach.then_some(Denial::StoreBreach), "{what}");
        assert_eq!(bodies(&globex).await, GLOBEX, "{what}");
        assert_eq!(session(&globex).await, before, "{what}");
        let nobody: i64 =
            sqlx::query_scalar("select count(*) from note").fetch_one(&database.untenanted()).await.unwrap();
        assert_eq!(nobody, 0, "{what}");
        // Another program on the same session, which sets nothing.
        let stranger = "select count(*) from note";
        assert_eq!(unnamed(&bouncer.database().app_options(), stranger).await, 0, "{what}");
    }
    database.close().await;
    world.server.run(&format!("drop role {other}")).await;
}

/// Another program with the same role leaves its session in a state that names resolve in.
#[tokio::test]
async fn a_shared_session_that_somebody_left_unclean_is_refused() {
    let (world, other, bouncer, database) = one_shared_session().await;
    let acme = world.scoped(&database, "acme").await;
    let mut expected = 0;
    for (what, leaves, unclean) in [
        ("nothing", "select 1".to_owned(), false),
        ("a temporary table", "create temp table note as select 1 as id, 'stolen' as body".to_owned(), true),
        ("a temporary view", "create temp view note as select 1 as id, 'stolen' as body".to_owned(), true),
        (
            "a temporary function",
            "create function pg_temp.lower(text) returns text language sql as 'select 1::text'".to_owned(),
            true,
        ),
        ("a temporary domain", "create domain pg_temp.uuid as text".to_owned(), true),
        ("a role", format!("set role {other}"), true),
        ("a prepared statement", "prepare mine as select 1".to_owned(), true),
        ("a search path, which each transaction sets itself", "set search_path = pg_temp".to_owned(), false),
    ] {
        let mut stranger = PgConnection::connect_with(&bouncer.database().app_options()).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(leaves)).execute(&mut stranger).await.unwrap();
        let next = acme.read().await;
        let denied = next.as_ref().err().and_then(PgError::denial);
        assert_eq!(denied, unclean.then_some(Denial::StoreBreach), "{what}");
        drop(next);
        expected += u64::from(unclean);
        assert_eq!(bodies(&acme).await, ACME, "{what}: the pooler closed the session that we hung up on");
        stranger.close().await.unwrap();
    }
    let records = world.tenants.audit().await;
    let found: u64 = records.iter().filter(|r| r.rule() == Some("store.breach")).map(|r| r.count()).sum();
    assert_eq!(found, expected);
    database.close().await;
    world.server.run(&format!("drop role {other}")).await;
}

async fn session(db: &TenantDb) -> String {
    let sql = "select concat_ws(' ', current_user, current_setting('search_path'), current_setting('client_encoding'),
                      current_setting('timezone'), current_setting('datestyle'), current_setting('statement_timeout'),
                      current_setting('transaction_read_only'),
                      (select count(*) from pg_class where relnamespace = pg_my_temp_schema()),
                      (select count(*) from pg_listening_channels()),
                      (select count(*) from pg_locks where locktype = 'advisory' and objid = 42))";
    sqlx::query_scalar(sql).fetch_one(db).await.unwrap()
}

/// What is declared, what is there, and whether it is found out.
#[tokio::test]
async fn a_pooler_is_what_it_was_declared_to_be_or_the_database_is_not_opened() {
    let swallows =
        |mode| PgBouncerOptions::new(mode).setting("ignore_startup_parameters", "extra_float_digits, options");
    let robin = |mode| PgBouncerOptions::new(mode).setting("server_round_robin", "1");
    let (session, transaction) = (PoolMode::Session, PoolMode::Transaction);
    let plain = PgBouncerOptions::new;
    for (what, options, declared, found_out) in [
        ("transactions, one session", plain(transaction).pool_size(1), Pooler::Session, true),
        ("transactions, two sessions", plain(transaction).pool_size(2), Pooler::Session, true),
        ("transactions, more sessions than are held", plain(transaction).pool_size(20), Pooler::Session, true),
        ("transactions, sessions in turn", robin(transaction).pool_size(20), Pooler::Session, true),
        ("transactions, the start swallowed", swallows(transaction), Pooler::None, true),
        ("sessions, the start swallowed", swallows(session), Pooler::None, true),
        ("sessions", plain(session).pool_size(8), Pooler::Session, false),
        ("sessions in turn", robin(session).pool_size(8), Pooler::Session, false),
        ("transactions, and said so", plain(transaction), Pooler::Transaction, false),
        ("sessions, and less was said", plain(session), Pooler::Transaction, false),
    ] {
        let world = World::new().await;
        let bouncer = bouncer(&world, options).await;
        // Sessions are there already, as on a pooler that others use.
        let warm = (0..3).map(|_| async { unnamed(&bouncer.database().superuser_options(), "select 1::bigint").await });
        futures_util::future::join_all(warm).await;
        match (open(&world, bouncer.database(), declared, 2).await, found_out) {
            (Err(PgError::PoolerMismatch), true) => {}
            (Ok(database), false) => {
                let acme = world.scoped(&database, "acme").await;
                assert_eq!(bodies(&acme).await, ACME, "{what}");
                assert_eq!(session_of(&acme).await, "public, pg_temp", "{what}");
            }
            (other, _) => panic!("{what}: {other:?}"),
        }
    }
    let world = World::new().await;
    for declared in [Pooler::None, Pooler::Session, Pooler::Transaction] {
        let database = open(&world, &world.server, declared, 2).await.unwrap();
        assert_eq!(bodies(&world.scoped(&database, "acme").await).await, ACME, "no pooler at all, {declared:?}");
    }
    let refusing = bouncer(&world, plain(session)).await;
    let refused = open(&world, refusing.database(), Pooler::None, 2).await.unwrap_err();
    assert!(
        matches!(refused, PgError::PoolerMismatch),
        "startup parameters are refused by the pooler itself: {refused:?}"
    );
}

async fn session_of(db: &TenantDb) -> String {
    let path: String = sqlx::query_scalar("select current_setting('search_path')").fetch_one(db).await.unwrap();
    path.replace('"', "")
}

/// Somebody turns the pooler's mode over while the service runs.
#[tokio::test]
async fn a_pooler_that_changes_is_found_out_at_the_next_inspection() {
    let world = World::new().await;
    let bouncer = bouncer(&world, PgBouncerOptions::new(PoolMode::Session).pool_size(12)).await;
    let database = open(&world, bouncer.database(), Pooler::Session, 1).await.unwrap();
    database.reinspect().await.unwrap();
    let mut console = PgConnection::connect_with(&bouncer.console_options().extra_float_digits(None)).await.unwrap();
    sqlx::raw_sql("set pool_mode = transaction").execute(&mut console).await.unwrap();
    let row = sqlx::raw_sql("show config").fetch_all(&mut console).await.unwrap();
    assert!(row.iter().any(|r| r.get::<String, _>(0) == "pool_mode" && r.get::<String, _>(1) == "transaction"));
    let refused = database.reinspect().await.unwrap_err();
    assert!(matches!(refused, PgError::PoolerMismatch), "{refused:?}");
}
