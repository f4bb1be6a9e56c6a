//! Dropped, failed and broken at every place, on a pool of one: the next borrower gets a clean connection.

use std::time::Duration;

use futures_util::{FutureExt, TryStreamExt};
use sqlx::postgres::PgPoolOptions;
use tenancy_core::Denial;
use tenancy_pg::{Database, Declaration, Inspected, PgError, RowKeyType, TenantDb, TenantTable};
use tenancy_testkit::drop_at_every_poll;

use crate::common::{ACME, GLOBEX, World, bodies, scalar};

/// Whoever comes next: another tenant, and nobody.
async fn next_is_clean(world: &World, database: &Database<Inspected>, globex: &TenantDb, what: &str) {
    assert_eq!(bodies(globex).await, GLOBEX, "{what}");
    let nobody = database.untenanted();
    let seen: i64 = sqlx::query_scalar("select count(*) from note").fetch_one(&nobody).await.unwrap();
    assert_eq!(seen, 0, "{what}");
    let life: String = sqlx::query_scalar("select current_setting('tenancy.row_key')").fetch_one(globex).await.unwrap();
    assert_eq!(life, world.life("globex").uuid().to_string(), "{what}");
}

/// The two faults of sqlx 0.9.0 that this crate's lease answers, shown on sqlx alone.
#[tokio::test]
async fn sqlx_alone_hands_out_a_tenants_open_transaction_and_an_aborted_one() {
    let world = World::new().await;
    let pool = PgPoolOptions::new().max_connections(1).connect_with(world.server.app_options()).await.unwrap();
    let acme = world.life("acme").uuid();
    // The server takes its time, so that the future is dropped after it was asked and before it has answered.
    let opening = format!("begin; set local \"tenancy.row_key\" = '{acme}'; select pg_sleep(0.2)");
    let begin = pool.begin_with(sqlx::AssertSqlSafe(opening.as_str()));
    assert!(tokio::time::timeout(std::time::Duration::from_millis(50), begin).await.is_err(), "dropped half-way");
    let seen: i64 = sqlx::query_scalar("select count(*) from note").fetch_one(&pool).await.unwrap();
    let leaked = seen == 2;
    sqlx::query("rollback").execute(&pool).await.unwrap();
    assert!(leaked, "sqlx has mended issue 4385: the lease can be made simpler");

    let failing = "begin; set local \"tenancy.row_key\" = 'x'; select 1/0";
    assert!(pool.begin_with(failing).await.is_err());
    let next = sqlx::query("select 1").execute(&pool).await.unwrap_err();
    assert_eq!(next.as_database_error().unwrap().code().unwrap(), "25P02");
}

/// What each act may leave is in `acts.rs`; here, that a commit is kept once it has answered.
#[tokio::test]
async fn a_commit_that_answered_is_kept_and_one_that_was_dropped_is_whole_or_not_there() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;
    let own = world.life("acme").uuid();
    let mut committed = 0;
    drop_at_every_poll(
        || async {
            let mut tx = acme.begin().await.unwrap();
            let insert = "insert into note (id, tenant_id, body) select n, $1, 'half' from generate_series(100, 109) n";
            sqlx::query(insert).bind(own).execute(&mut tx).await.unwrap();
            tx.commit().await.unwrap();
        },
        async |polls, done| {
            next_is_clean(&world, &database, &globex, &format!("a commit, dropped after poll {polls}")).await;
            let kept = world.rows_in_truth("id >= 100").await;
            assert!(kept == 10 || done.is_none() && kept == 0, "{kept} rows after poll {polls}");
            committed += kept;
            world.server.run("delete from note where id >= 100").await;
        },
    )
    .await;
    assert!(committed >= 10);
}

/// A check that had begun leaves a record, whenever its future is dropped.
#[tokio::test]
async fn a_dropped_transaction_is_on_record() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    drop(acme.begin().await.unwrap());
    let mut tx = acme.begin().await.unwrap();
    sqlx::query("delete from note").execute(&mut tx).await.unwrap();
    let sleeping = sqlx::query("select pg_sleep(1)").execute(&mut tx);
    assert!(tokio::time::timeout(std::time::Duration::from_millis(50), sleeping).await.is_err());
    drop(tx);
    drop(acme.read().await.unwrap());
    let audit = world.tenants.audit().await;
    let cancelled: u64 = audit.iter().filter(|r| r.outcome().as_str() == "cancelled").map(|r| r.count()).sum();
    assert_eq!(cancelled, 2, "the two that could write");
}

/// P2 and its relatives: the scope of acme ends badly and nobody looks at the error.
#[tokio::test]
async fn a_transaction_that_ends_badly_leaves_nothing() {
    let world = World::new().await;
    world.server.run_as_owner("alter table note add constraint later foreign key (slug) references country deferrable initially deferred not valid").await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;
    let own = world.life("acme").uuid();
    let next = async |what: &str| next_is_clean(&world, &database, &globex, what).await;

    // The listed case: a statement fails inside the transaction, the error is swallowed, the handle dropped.
    let mut tx = acme.begin().await.unwrap();
    let _swallowed = sqlx::query("select 1/0").execute(&mut tx).await;
    drop(tx);
    next("failed and dropped").await;

    let mut tx = acme.begin().await.unwrap();
    let _swallowed = sqlx::query("select 1/0").execute(&mut tx).await;
    let refused = tx.commit().await.unwrap_err();
    assert!(matches!(&refused, PgError::Database(e) if e.sqlstate() == Some("25P02")), "{refused:?}");
    next("failed and committed all the same").await;

    let mut tx = acme.begin().await.unwrap();
    let _swallowed = sqlx::query("select 1/0").execute(&mut tx).await;
    tx.rollback().await.unwrap();
    next("failed and rolled back").await;

    let _swallowed = sqlx::query("select 1/0").fetch_all(&acme).await;
    next("a statement of its own failed").await;

    let mut tx = acme.begin().await.unwrap();
    sqlx::query("insert into note values (50, $1, 'b', 'nowhere')").bind(own).execute(&mut tx).await.unwrap();
    let refused = tx.commit().await.unwrap_err();
    assert!(matches!(&refused, PgError::Database(e) if e.sqlstate() == Some("23503")), "{refused:?}");
    assert_eq!(world.rows_in_truth("id = 50").await, 0);
    next("refused at the commit itself, by a deferred constraint").await;

    let mut tx = acme.begin().await.unwrap();
    let stopped =
        tokio::time::timeout(Duration::from_millis(30), sqlx::query("select pg_sleep(2)").execute(&mut tx)).await;
    assert!(stopped.is_err());
    let interrupted = sqlx::query("select 1").execute(&mut tx).await.unwrap_err();
    assert!(matches!(PgError::from(interrupted), PgError::Interrupted));
    assert!(matches!(tx.commit().await, Err(PgError::Interrupted)));
    next("a statement was stopped in the middle").await;

    let mut rows = sqlx::query("select body from note").fetch(&acme);
    rows.try_next().await.unwrap().unwrap();
    drop(rows);
    next("a stream was dropped after its first row").await;

    let mut tx = acme.begin().await.unwrap();
    let panicked = std::panic::AssertUnwindSafe(async {
        sqlx::query("select 1").execute(&mut tx).await.unwrap();
        panic!("in the middle of a request");
    });
    assert!(panicked.catch_unwind().await.is_err());
    drop(tx);
    next("the task panicked").await;

    let mut tx = acme.begin().await.unwrap();
    let pid: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut tx).await.unwrap();
    scalar(&world.server.superuser_options(), &format!("select pg_terminate_backend({pid})::int::bigint")).await;
    assert!(sqlx::query("select 1").execute(&mut tx).await.is_err());
    assert!(matches!(tx.commit().await, Err(PgError::Interrupted)));
    next("the server ended the session").await;
}

/// P3 and its relatives: the opening batch fails.
#[tokio::test]
async fn an_opening_batch_that_fails_leaves_nothing() {
    let world = World::bare().await;
    // A prefix that a library reserves once it is loaded: from then on the server refuses to set it.
    let declaration = Declaration::builder()
        .setting("auto_explain.row_key")
        .tenant_table(TenantTable::new("public", "note", "tenant_id", RowKeyType::Uuid).unwrap())
        .global_table("public", "country")
        .build()
        .unwrap();
    world.server.run_as_owner(&tenancy_pg::policy_sql(&declaration)).await;
    // The pool itself goes on trying for as long as it may take to get a connection.
    let options = world.options().acquire_timeout(Duration::from_millis(300));
    let database = Database::open(world.tenants.realm(), options, &declaration).await.unwrap();
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;
    let end_sessions = async || {
        let sql = "select count(pg_terminate_backend(pid)) from pg_stat_activity where usename = 'app' and datname = current_database()";
        scalar(&world.server.superuser_options(), sql).await
    };
    let name = world.server.name().to_owned();

    for (what, break_it, mend_it) in [
        (
            "the server refuses the setting half-way",
            format!("alter role app in database {name} set session_preload_libraries = 'auto_explain'"),
            format!("alter role app in database {name} reset session_preload_libraries"),
        ),
        (
            "the role may not connect",
            format!("revoke connect on database {name} from public"),
            format!("grant connect on database {name} to public"),
        ),
        (
            "the database takes no connections",
            format!("alter database {name} connection limit 0"),
            format!("alter database {name} connection limit -1"),
        ),
    ] {
        assert_eq!(bodies(&acme).await, ACME, "{what}: before");
        world.server.run(&break_it).await;
        end_sessions().await;
        let refused = acme.begin().await.unwrap_err();
        assert!(refused.denial().is_none(), "{what}: {refused}");
        assert!(acme.read().await.is_err(), "{what}");
        assert!(sqlx::query("select 1").execute(&acme).await.is_err(), "{what}");
        assert!(sqlx::query("select 1").execute(&database.untenanted()).await.is_err(), "{what}");
        world.server.run(&mend_it).await;
        assert_eq!(bodies(&globex).await, GLOBEX, "{what}: after");
        let nobody: i64 =
            sqlx::query_scalar("select count(*) from note").fetch_one(&database.untenanted()).await.unwrap();
        assert_eq!(nobody, 0, "{what}");
    }

    assert_eq!(bodies(&acme).await, ACME);
    end_sessions().await;
    assert_eq!(bodies(&globex).await, GLOBEX, "a connection that died in the pool is replaced without a word");

    let held = acme.begin().await.unwrap();
    let options = world.options().acquire_timeout(Duration::from_millis(50));
    let narrow = Database::open(world.tenants.realm(), options, &declaration).await.unwrap();
    let first = world.scoped(&narrow, "acme").await;
    let tx = first.begin().await.unwrap();
    let second = world.scoped(&narrow, "globex").await;
    assert!(matches!(second.begin().await, Err(PgError::Busy)));
    drop(tx);
    assert_eq!(bodies(&second).await, GLOBEX, "no connection came free, and then one did");
    drop(held);
}

/// A tenant is refused while others wait for the same connection.
#[tokio::test]
async fn a_denial_takes_no_connection() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;
    let held = globex.begin().await.unwrap();
    world.tenants.suspend("acme");
    let refused = tokio::time::timeout(Duration::from_secs(5), acme.begin()).await.unwrap().unwrap_err();
    assert_eq!(refused.denial(), Some(Denial::TenantSuspended));
    held.rollback().await.unwrap();
}

/// What a tenant wrote before its future was dropped in the middle of a statement is not committed by whoever gets the
/// connection next. The server takes its time, so that the drop comes while an answer is owed, on any machine.
#[tokio::test]
async fn a_write_dropped_in_flight_is_not_committed_by_the_next_borrower() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;
    let insert = "insert into note (id, tenant_id, body) values ($1, $2, 'half')";
    for (what, slow) in [
        ("a statement", "select pg_sleep(0.3)"),
        ("a write", "update note set body = body where pg_sleep(0.3) is not null"),
        ("a lock", "select pg_advisory_xact_lock(1), pg_sleep(0.3)"),
    ] {
        let mut tx = acme.begin().await.unwrap();
        sqlx::query(insert).bind(100_i64).bind(world.life("acme").uuid()).execute(&mut tx).await.unwrap();
        let asked = sqlx::query(sqlx::AssertSqlSafe(slow)).execute(&mut tx);
        assert!(tokio::time::timeout(std::time::Duration::from_millis(50), asked).await.is_err(), "{what}");
        drop(tx);
        let own = world.life("globex").uuid();
        sqlx::query(insert).bind(200_i64).bind(own).execute(&globex).await.unwrap();
        assert_eq!(world.rows_in_truth("id = 200").await, 1, "{what}: the neighbour's own write is kept");
        assert_eq!(world.rows_in_truth("id = 100").await, 0, "{what}: half a transaction was committed");
        world.server.run("delete from note where id = 200").await;
    }
}
