//! Savepoints: what they keep and undo, what fails within them, and that they can't change the tenant.

use std::sync::atomic::{AtomicI32, Ordering};

use sqlx::AssertSqlSafe;
use tenancy_core::Denial;
use tenancy_pg::{OrNotVisible, PgError, TenantSavepoint, TenantTx};
use tenancy_testkit::drop_at_every_poll;

use crate::common::{ACME, GLOBEX, World, bodies, scalar};

const INSERT: &str =
    "insert into note (id, tenant_id, body) values ($1, current_setting('tenancy.row_key')::uuid, 'new')";

async fn add(savepoint: &mut TenantSavepoint<'_, '_>, id: i32) {
    sqlx::query(INSERT).bind(id).execute(savepoint).await.unwrap();
}

async fn ids(tx: &mut TenantTx<'_>) -> Vec<i32> {
    sqlx::query_scalar("select id from note where body = 'new' order by id").fetch_all(tx).await.unwrap()
}

fn sqlstate(error: &PgError) -> Option<&str> {
    match error {
        PgError::Database(e) => e.sqlstate(),
        _other => None,
    }
}

#[tokio::test]
async fn what_is_released_is_kept_and_nothing_else() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let mut tx = acme.begin().await.unwrap();

    let mut one = tx.savepoint().await.unwrap();
    add(&mut one, 10).await;
    one.release().await.unwrap();
    assert_eq!(ids(&mut tx).await, [10], "released");

    let mut one = tx.savepoint().await.unwrap();
    add(&mut one, 11).await;
    one.rollback().await.unwrap();
    assert_eq!(ids(&mut tx).await, [10], "rolled back");

    let mut one = tx.savepoint().await.unwrap();
    add(&mut one, 12).await;
    drop(one);
    assert_eq!(ids(&mut tx).await, [10], "dropped");

    let mut one = tx.savepoint().await.unwrap();
    add(&mut one, 13).await;
    let mut two = one.savepoint().await.unwrap();
    add(&mut two, 14).await;
    drop(two);
    add(&mut one, 15).await;
    one.release().await.unwrap();
    assert_eq!(ids(&mut tx).await, [10, 13, 15], "the inner one dropped, then a statement of the outer one");

    let mut one = tx.savepoint().await.unwrap();
    add(&mut one, 16).await;
    let mut two = one.savepoint().await.unwrap();
    add(&mut two, 17).await;
    drop(two);
    one.release().await.unwrap();
    assert_eq!(ids(&mut tx).await, [10, 13, 15, 16], "the inner one dropped, then the outer one released");

    let mut one = tx.savepoint().await.unwrap();
    let mut two = one.savepoint().await.unwrap();
    add(&mut two, 18).await;
    two.release().await.unwrap();
    one.rollback().await.unwrap();
    assert_eq!(ids(&mut tx).await, [10, 13, 15, 16], "the inner one released, the outer one rolled back");

    let mut one = tx.savepoint().await.unwrap();
    let mut two = one.savepoint().await.unwrap();
    add(&mut two, 19).await;
    drop(two);
    drop(one);
    let mut one = tx.savepoint().await.unwrap();
    add(&mut one, 20).await;
    one.release().await.unwrap();
    assert_eq!(ids(&mut tx).await, [10, 13, 15, 16, 20], "both dropped, then another");

    let mut one = tx.savepoint().await.unwrap();
    let row: Option<i32> =
        sqlx::query_scalar("select id from note where id = 3").fetch_optional(&mut one).await.unwrap();
    assert_eq!(row.or_not_visible(&one).unwrap_err().denial(), Some(Denial::NotVisible));
    add(&mut one, 21).await;
    drop(one);
    tx.commit().await.unwrap();
    assert_eq!(world.rows_in_truth("body = 'new' and id in (10, 13, 15, 16, 20)").await, 5);
    assert_eq!(world.rows_in_truth("body = 'new'").await, 5, "dropped before the commit");

    let globex = world.scoped(&database, "globex").await;
    assert_eq!(bodies(&globex).await, GLOBEX);
}

#[tokio::test]
async fn a_failure_is_undone_with_its_savepoint() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;
    for (what, sql) in [
        ("a division", "select 1/0"),
        ("a key that is taken", "insert into note select id, tenant_id, 'new' from note where id = 1"),
        ("another tenant's row", "insert into note values (50, '00000000-0000-0000-0000-000000000000', 'new')"),
        ("a table that is not there", "select * from nowhere"),
        ("a text that is no number", "select 'x'::int"),
    ] {
        let mut tx = acme.begin().await.unwrap();
        let mut one = tx.savepoint().await.unwrap();
        add(&mut one, 30).await;
        let mut two = one.savepoint().await.unwrap();
        assert!(sqlx::query(sql).execute(&mut two).await.is_err(), "{what}");
        let aborted = two.release().await.unwrap_err();
        assert_eq!(sqlstate(&aborted), Some("25P02"), "{what}: can't be released");
        add(&mut one, 31).await;
        let mut two = one.savepoint().await.unwrap();
        assert!(sqlx::query(sql).execute(&mut two).await.is_err(), "{what}");
        assert_eq!(sqlstate(&two.savepoint().await.map(drop).unwrap_err()), Some("25P02"), "{what}: nor begun");
        two.rollback().await.unwrap();
        let mut two = one.savepoint().await.unwrap();
        assert!(sqlx::query(sql).execute(&mut two).await.is_err(), "{what}");
        drop(two);
        one.release().await.unwrap();
        assert_eq!(ids(&mut tx).await, [30, 31], "{what}");
        tx.rollback().await.unwrap();

        let mut tx = acme.begin().await.unwrap();
        let mut one = tx.savepoint().await.unwrap();
        assert!(sqlx::query(sql).execute(&mut one).await.is_err(), "{what}");
        drop(one);
        tx.commit().await.unwrap();
        assert_eq!(bodies(&acme).await, ACME, "{what}: dropped, then committed");
        assert_eq!(bodies(&globex).await, GLOBEX, "{what}");
    }
    let audit = world.tenants.audit().await;
    let unproven: u64 = audit.iter().filter(|r| r.rule() == Some("pg.unproven")).map(|r| r.count()).sum();
    assert_eq!(unproven, 5 * 4, "what a failed statement saw can't be shown");
    assert!(audit.iter().all(|r| r.outcome().as_str() != "denied"));
}

/// How a savepoint in which the setting was changed is left.
#[derive(Clone, Copy, Debug)]
enum Leave {
    Release,
    Rollback,
    DropAndGoOn,
    DropAndCommit,
    DropInner,
}

#[tokio::test]
async fn a_savepoint_can_not_change_the_tenant() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;
    let pretend = format!("select pretend('{}')", world.life("globex").uuid());
    let mut breaches = 0;
    for leave in [Leave::Release, Leave::Rollback, Leave::DropAndGoOn, Leave::DropAndCommit, Leave::DropInner] {
        let mut tx = acme.begin().await.unwrap();
        let mut one = tx.savepoint().await.unwrap();
        sqlx::query(AssertSqlSafe(pretend.as_str())).execute(&mut one).await.unwrap();
        sqlx::query("update note set body = 'taken' where id = 3").execute(&mut one).await.unwrap();
        let denied = match leave {
            Leave::Release => one.release().await.unwrap_err(),
            Leave::Rollback => one.rollback().await.unwrap_err(),
            Leave::DropAndGoOn => {
                drop(one);
                sqlx::query("select 1").execute(&mut tx).await.unwrap_err().into()
            }
            Leave::DropAndCommit => {
                drop(one);
                tx.commit().await.unwrap_err()
            }
            Leave::DropInner => {
                drop(one.savepoint().await.unwrap());
                one.release().await.unwrap_err()
            }
        };
        assert_eq!(denied.denial(), Some(Denial::StoreBreach), "{leave:?}");
        breaches += 1;
        assert_eq!(bodies(&globex).await, GLOBEX, "{leave:?}");
        assert_eq!(bodies(&acme).await, ACME, "{leave:?}");
    }
    let audit = world.tenants.audit().await;
    let found: u64 = audit.iter().filter(|r| r.rule() == Some("store.breach")).map(|r| r.count()).sum();
    assert_eq!(found, breaches);

    // Hidden behind a failure it comes back with the savepoint, and is on record as unproven.
    let mut tx = acme.begin().await.unwrap();
    let mut one = tx.savepoint().await.unwrap();
    sqlx::query(AssertSqlSafe(pretend.as_str())).execute(&mut one).await.unwrap();
    sqlx::query("select 1/0").execute(&mut one).await.unwrap_err();
    one.rollback().await.unwrap();
    let seen: Vec<String> = sqlx::query_scalar("select body from note order by id").fetch_all(&mut tx).await.unwrap();
    assert_eq!(seen, ACME);
    tx.commit().await.unwrap();
    let audit = world.tenants.audit().await;
    assert!(audit.iter().any(|r| r.rule() == Some("pg.unproven") && r.action() == "pg.savepoint"));
}

#[tokio::test]
async fn a_savepoint_ends_with_its_transaction() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;

    let mut tx = acme.begin().await.unwrap();
    let mut one = tx.savepoint().await.unwrap();
    let pid: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut one).await.unwrap();
    scalar(&world.server.superuser_options(), &format!("select pg_terminate_backend({pid})::int::bigint")).await;
    assert!(one.release().await.is_err());
    assert!(matches!(tx.commit().await, Err(PgError::Interrupted)));
    assert_eq!(bodies(&globex).await, GLOBEX, "the server ended the session");

    let mut tx = acme.begin().await.unwrap();
    let mut one = tx.savepoint().await.unwrap();
    let sleeping = sqlx::query("select pg_sleep(2)").execute(&mut one);
    assert!(tokio::time::timeout(std::time::Duration::from_millis(30), sleeping).await.is_err());
    assert!(matches!(one.rollback().await, Err(PgError::Interrupted)));
    assert!(matches!(tx.commit().await, Err(PgError::Interrupted)));
    assert_eq!(bodies(&globex).await, GLOBEX, "a statement was stopped");

    let mut tx = acme.begin().await.unwrap();
    let one = tx.savepoint().await.unwrap();
    world.tenants.suspend("acme");
    assert_eq!(one.release().await.unwrap_err().denial(), Some(Denial::TenantSuspended));
    assert!(matches!(tx.commit().await, Err(PgError::Interrupted)));
    assert_eq!(bodies(&globex).await, GLOBEX, "suspended");
}

#[tokio::test]
async fn a_savepoint_dropped_after_any_poll_leaves_nothing() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;
    // A commit whose future was dropped may still reach the server, also after the next round has begun: each round has
    // ids of its own.
    let round = AtomicI32::new(100);
    let next = || round.fetch_add(10, Ordering::SeqCst) + 10;
    let clean = async |what: &str, polls: usize, kept: bool| {
        assert_eq!(bodies(&globex).await, GLOBEX, "{what}, dropped after poll {polls}");
        let id = round.load(Ordering::SeqCst);
        let rows = world.rows_in_truth(&format!("id between {id} and {id} + 9")).await;
        assert!(rows == 1 || !kept && rows == 0, "{what}, dropped after poll {polls}: {rows}");
    };
    let polls = drop_at_every_poll(
        || async {
            let id = next();
            let mut tx = acme.begin().await.unwrap();
            let mut one = tx.savepoint().await.unwrap();
            add(&mut one, id).await;
            one.release().await.unwrap();
            tx.commit().await.unwrap();
        },
        async |polls, done| clean("released", polls, done.is_some()).await,
    )
    .await;
    assert!(polls > 1);
    drop_at_every_poll(
        || async {
            let id = next();
            let mut tx = acme.begin().await.unwrap();
            let mut one = tx.savepoint().await.unwrap();
            add(&mut one, id).await;
            let mut two = one.savepoint().await.unwrap();
            add(&mut two, id + 1).await;
            two.rollback().await.unwrap();
            one.release().await.unwrap();
            tx.commit().await.unwrap();
        },
        async |polls, done| clean("rolled back", polls, done.is_some()).await,
    )
    .await;
    drop_at_every_poll(
        || async {
            let id = next();
            let mut tx = acme.begin().await.unwrap();
            let mut one = tx.savepoint().await.unwrap();
            let _swallowed = sqlx::query("select 1/0").execute(&mut one).await;
            drop(one);
            let mut one = tx.savepoint().await.unwrap();
            add(&mut one, id).await;
            one.release().await.unwrap();
            tx.commit().await.unwrap();
        },
        async |polls, done| clean("failed and dropped", polls, done.is_some()).await,
    )
    .await;
}
