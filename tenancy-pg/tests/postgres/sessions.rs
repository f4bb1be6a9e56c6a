//! What a session starts with, and that it makes no difference where a connection comes from (P13).

use std::time::Duration;

use sqlx::AssertSqlSafe;
use tenancy_core::Denial;
use tenancy_pg::{Database, PgError, PgOptions, TenantDb};

use crate::common::{ACME, GLOBEX, World, bodies, scalar, smuggled};

/// Everything pinned, as the session sees it.
async fn settings(db: &TenantDb) -> String {
    let sql = "select string_agg(name || '=' || setting, ' ' order by name) from pg_settings where name in
               ('search_path', 'standard_conforming_strings', 'statement_timeout', 'lock_timeout', 'row_security',
                'idle_in_transaction_session_timeout', 'client_min_messages', 'default_transaction_isolation',
                'default_transaction_read_only')";
    sqlx::query_scalar(sql).fetch_one(db).await.unwrap()
}

async fn backend(db: &TenantDb) -> i32 {
    sqlx::query_scalar("select pg_backend_pid()").fetch_one(db).await.unwrap()
}

const PINNED: &str = "client_min_messages=error default_transaction_isolation=read committed \
                      default_transaction_read_only=off idle_in_transaction_session_timeout=60000 lock_timeout=0 \
                      row_security=on search_path=\"public\", pg_temp standard_conforming_strings=on \
                      statement_timeout=30000";

/// Whatever a role or a database says; and a tenant that changes a session's settings changes them for nobody else.
#[tokio::test]
async fn a_session_starts_and_goes_back_to_the_same_settings() {
    let world = World::new().await;
    let name = world.server.name().to_owned();
    let defaults = [
        "search_path = pg_temp, public",
        "standard_conforming_strings = off",
        "statement_timeout = 0",
        "row_security = off",
        "client_min_messages = debug5",
        "default_transaction_isolation = serializable",
        "default_transaction_read_only = on",
        "idle_in_transaction_session_timeout = 1",
        "lock_timeout = 1",
    ];
    for default in defaults {
        world.server.run(&format!("alter role app in database {name} set {default}")).await;
    }
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;
    assert_eq!(settings(&acme).await, PINNED);
    let pid = backend(&acme).await;
    for change in [
        "search_path = 'pg_temp, public'",
        "standard_conforming_strings = off",
        "statement_timeout = 0",
        "client_min_messages = debug5",
        "default_transaction_isolation = serializable",
        "default_transaction_read_only = on",
        "idle_in_transaction_session_timeout = 1000",
        "lock_timeout = 1",
    ] {
        sqlx::query(AssertSqlSafe(smuggled(&format!("set session {change}")))).execute(&acme).await.unwrap();
        assert_eq!(settings(&globex).await, PINNED, "{change}");
        assert_eq!(backend(&globex).await, pid, "{change}: it was cleaned, not closed");
    }

    let options = world
        .options()
        .search_path(["pg_catalog", "Odd \"name\", x", "public"])
        .statement_timeout(Duration::from_secs(7))
        .lock_timeout(Duration::from_millis(1500))
        .idle_in_transaction_timeout(Duration::ZERO);
    let other = Database::open(world.tenants.realm(), options, &world.declaration).await.unwrap();
    let acme = world.scoped(&other, "acme").await;
    let shown = settings(&acme).await;
    for part in [
        "search_path=\"pg_catalog\", \"Odd \"\"name\"\", x\", \"public\", pg_temp",
        "statement_timeout=7000",
        "lock_timeout=1500",
        "idle_in_transaction_session_timeout=0",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert_eq!(bodies(&acme).await, ACME);
}

/// How the next borrower comes by a connection.
enum Comes {
    /// From the one that was just used, by a neighbour, in a way.
    After(&'static str),
    /// It died while it was idle.
    Died,
    /// It was idle for too long, or lived for too long.
    Expired,
    /// Of many that are opened at the same moment.
    Together,
    /// After somebody waited for it.
    Waited,
}

/// P13: fresh, reused, replaced and waited-for connections behave the same.
#[tokio::test]
async fn it_makes_no_difference_where_a_connection_comes_from() {
    let world = World::new().await;
    let short = || world.options().idle_timeout(Duration::from_millis(1)).max_lifetime(Duration::from_secs(1));
    for (what, comes) in [
        ("fresh, and reused after a commit", Comes::After("update note set body = body where id = 1")),
        ("after a statement that failed", Comes::After("select 1/0")),
        ("after a session setting", Comes::After("select smuggle('set session default_transaction_read_only = on')")),
        ("after a prepared statement of SQL, so a new one", Comes::After("select smuggle('prepare mine as select 1')")),
        ("after a lock of the session", Comes::After("select pg_advisory_lock(7)")),
        ("it died while idle", Comes::Died),
        ("it was idle for too long", Comes::Expired),
        ("opened at the same moment", Comes::Together),
        ("waited for", Comes::Waited),
    ] {
        let options = match comes {
            Comes::Expired => short(),
            Comes::Together => world.options().max_connections(6),
            Comes::After(_) | Comes::Died | Comes::Waited => world.options(),
        };
        let database = Database::open(world.tenants.realm(), options, &world.declaration).await.unwrap();
        let acme = world.scoped(&database, "acme").await;
        let globex = world.scoped(&database, "globex").await;
        let same = async |order: &str| {
            assert_eq!(bodies(&acme).await, ACME, "{what}, {order}");
            assert_eq!(settings(&globex).await, PINNED, "{what}, {order}");
            assert_eq!(bodies(&globex).await, GLOBEX, "{what}, {order}");
            let foreign = sqlx::query("update note set body = 'x' where tenant_id = $1")
                .bind(world.life("acme").uuid())
                .execute(&globex)
                .await
                .unwrap();
            assert_eq!(foreign.rows_affected(), 0, "{what}, {order}");
            let nobody: i64 =
                sqlx::query_scalar("select count(*) from note").fetch_one(&database.untenanted()).await.unwrap();
            assert_eq!(nobody, 0, "{what}, {order}");
        };
        same("before").await;
        match comes {
            Comes::After(sql) => {
                let _failed_or_not = sqlx::query(sql).execute(&acme).await;
            }
            Comes::Died => {
                let pid = backend(&acme).await;
                let kill = format!("select pg_terminate_backend({pid}, 5000)::int::bigint");
                assert_eq!(scalar(&world.server.superuser_options(), &kill).await, 1);
            }
            Comes::Expired => {
                let before = backend(&acme).await;
                // Older than a millisecond once a round-trip has gone by elsewhere.
                scalar(&world.server.superuser_options(), "select 1::bigint from pg_sleep(0.02)").await;
                assert_ne!(backend(&acme).await, before, "{what}");
            }
            Comes::Together => {
                let six = std::iter::repeat_n((), 6).map(|()| bodies(&acme));
                for seen in futures_util::future::join_all(six).await {
                    assert_eq!(seen, ACME, "{what}");
                }
            }
            Comes::Waited => {
                let held = acme.begin().await.unwrap();
                let (seen, ()) = tokio::join!(bodies(&globex), async { held.rollback().await.unwrap() });
                assert_eq!(seen, GLOBEX, "{what}");
            }
        }
        same("after").await;
        database.close().await;
    }
}

/// What is put off until the commit is not put off until after the proof.
#[tokio::test]
async fn a_deferred_trigger_runs_before_the_proof() {
    let world = World::new().await;
    let victim = world.life("globex").uuid();
    world
        .server
        .run_as_owner(&format!(
            "create function turn() returns trigger language plpgsql as $$ begin
                 if new.body = 'turn' then perform set_config('tenancy.row_key', '{victim}', true); end if;
                 return null; end $$;
             create constraint trigger later after insert on note deferrable initially deferred
                 for each row execute function turn();"
        ))
        .await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    for (id, body, breach) in [(80, "stay", false), (81, "turn", true)] {
        let mut tx = acme.begin().await.unwrap();
        sqlx::query("insert into note (id, tenant_id, body) values ($1, $2, $3)")
            .bind(id)
            .bind(world.life("acme").uuid())
            .bind(body)
            .execute(&mut tx)
            .await
            .unwrap();
        let denied = tx.commit().await.err().and_then(|e| e.denial());
        assert_eq!(denied, breach.then_some(Denial::StoreBreach), "{body}");
        assert_eq!(world.rows_in_truth(&format!("id = {id}")).await, i64::from(!breach), "{body}");
    }
    assert_eq!(bodies(&world.scoped(&database, "globex").await).await, GLOBEX);
}

/// A cursor that outlives its transaction would run its query to the end at the commit, which is after the proof.
#[tokio::test]
async fn the_query_of_a_cursor_does_not_run_after_the_proof() {
    let world = World::new().await;
    let run = "create function run(text) returns int language plpgsql as $$ begin execute $1; return 1; end $$;
               create sequence ran; grant usage on sequence ran to app;";
    world.server.run_as_owner(run).await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let ran = async || scalar(&world.server.superuser_options(), "select is_called::int::bigint from ran").await;
    let mut tx = acme.begin().await.unwrap();
    for sql in ["declare kept cursor with hold for select nextval('ran')", "declare other cursor for select 1"] {
        sqlx::query("select run($1)").bind(sql).execute(&mut tx).await.unwrap();
    }
    tx.commit().await.unwrap();
    assert_eq!(ran().await, 0);
    sqlx::query("select nextval('ran')").execute(&acme).await.unwrap();
    assert_eq!(ran().await, 1, "it can be told");
}

/// A closed database refuses, and has waited for what was under way.
#[tokio::test]
async fn a_closed_database_refuses() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let mut tx = acme.begin().await.unwrap();
    sqlx::query("update note set body = 'last words' where id = 1").execute(&mut tx).await.unwrap();
    let (closed, committed) = tokio::join!(database.close(), async {
        let refused = acme.read().await.unwrap_err();
        assert!(matches!(refused, PgError::Driver(_)), "{refused:?}");
        tx.commit().await
    });
    let () = closed;
    committed.unwrap();
    database.close().await;
    assert_eq!(world.rows_in_truth("body = 'last words'").await, 1);
    let app = "select count(*) from pg_stat_activity where usename = 'app' and datname = current_database()";
    for _ending in 0..100 {
        if scalar(&world.server.superuser_options(), app).await == 0 {
            return;
        }
        scalar(&world.server.superuser_options(), "select 1::bigint from pg_sleep(0.02)").await;
    }
    panic!("connections are left");
}

/// A context that has less time than a statement may take shortens it, and only for its own transaction.
#[tokio::test]
async fn a_deadline_shortens_statements_and_nobody_elses() {
    let world = World::new().await;
    let options =
        PgOptions::new(world.server.app_options()).max_connections(1).statement_timeout(Duration::from_secs(3600));
    let database = Database::open(world.tenants.realm(), options, &world.declaration).await.unwrap();
    let acme = world.scoped(&database, "acme").await;
    let shown: i64 = sqlx::query_scalar("select setting::bigint from pg_settings where name = 'statement_timeout'")
        .fetch_one(&acme)
        .await
        .unwrap();
    assert!((1..3_600_000).contains(&shown), "{shown}: what is left of the context");
    let nobody: i64 = sqlx::query_scalar("select setting::bigint from pg_settings where name = 'statement_timeout'")
        .fetch_one(&database.untenanted())
        .await
        .unwrap();
    assert_eq!(nobody, 3_600_000);
}
