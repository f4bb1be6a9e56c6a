//! Statements that try to get away without the proof at the end of their transaction.

use std::time::Duration;

use futures_util::TryStreamExt;
use sqlx::AssertSqlSafe;
use tenancy_core::Denial;
use tenancy_pg::{PgError, danger};

use crate::common::{World, bodies, smuggled};

impl World {
    /// How many records say `failed` under this rule.
    async fn unproven(&self) -> u64 {
        let records = self.tenants.audit().await;
        let unproven = records.iter().filter(|r| r.rule() == Some("pg.unproven"));
        unproven.inspect(|r| assert_eq!(r.outcome().as_str(), "failed")).map(|r| r.count()).sum()
    }

    async fn breaches(&self) -> u64 {
        let records = self.tenants.audit().await;
        records.iter().filter(|r| r.rule() == Some("store.breach")).map(|r| r.count()).sum()
    }

    /// Ends behind the scenes take a moment.
    async fn settles_at(&self, expected: u64, what: &str) {
        for _wait in 0..40 {
            if self.unproven().await >= expected {
                break;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        assert_eq!(self.unproven().await, expected, "{what}");
    }

    fn as_globex(&self, rest: &str) -> String {
        format!("select pretend('{}'){rest}", self.life("globex").uuid())
    }
}

#[tokio::test]
async fn a_read_can_not_be_made_a_write() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    for sql in [
        "set transaction read write",
        "set local transaction_read_only = off",
        "set session transaction_read_only = off",
        "select set_config('transaction_read_only', 'off', true)",
        "do $$ begin set transaction read write; end $$",
    ] {
        let mut tx = acme.read().await.unwrap();
        let refused = sqlx::query(AssertSqlSafe(smuggled(sql))).execute(&mut tx).await.unwrap_err();
        assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "25001", "{sql}");
    }
    let mut tx = acme.read().await.unwrap();
    sqlx::query(AssertSqlSafe(smuggled("set transaction read only"))).execute(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(world.breaches().await, 0);
}

#[tokio::test]
async fn a_transaction_that_was_exchanged_for_another_is_a_breach() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let own = world.life("acme").uuid();
    let scope = format!("set local \"tenancy.row_key\" = '{own}'");
    let mut expected = 0;
    for (what, begin) in [
        ("begin", &["commit", "begin"][..]),
        ("begin read only", &["commit", "begin read only"]),
        ("commit and chain", &["commit and chain"]),
        ("rollback and chain", &["rollback and chain"]),
        ("rollback, begin", &["rollback", "begin"]),
    ] {
        for read in [false, true] {
            let mut tx = if read { acme.read().await.unwrap() } else { acme.begin().await.unwrap() };
            let connection = danger::connection(&mut tx, "the guard would refuse").await.unwrap();
            for sql in begin.iter().copied().chain([scope.as_str()]) {
                sqlx::query(AssertSqlSafe(sql)).execute(&mut *connection).await.unwrap();
            }
            let denied = if read { tx.rollback().await } else { tx.commit().await };
            assert_eq!(denied.unwrap_err().denial(), Some(Denial::StoreBreach), "{what}, read: {read}");
            expected += 1;
        }
    }
    // What was committed inside is kept, and does not go without a trace.
    let insert = format!("insert into note (id, tenant_id, body) values (70, '{own}', 'smuggled')");
    let mut tx = acme.read().await.unwrap();
    let connection = danger::connection(&mut tx, "the guard would refuse").await.unwrap();
    for sql in ["commit", "begin read write", &scope, &insert, "commit", "begin read only", &scope] {
        sqlx::query(AssertSqlSafe(sql)).execute(&mut *connection).await.unwrap();
    }
    drop(tx);
    assert_eq!(bodies(&acme).await.len(), 3, "the pool of one waits for the end behind the scenes");
    assert_eq!(world.breaches().await, expected + 1);

    assert_eq!(world.unproven().await, 0);
}

#[tokio::test]
async fn an_end_without_a_proof_is_on_record() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let nobody = database.untenanted();
    let kill = "select pg_terminate_backend(pg_backend_pid())";

    // The positive control: all of these are proven.
    bodies(&acme).await;
    acme.begin().await.unwrap().rollback().await.unwrap();
    drop(acme.begin().await.unwrap());
    drop(acme.read().await.unwrap());
    sqlx::query("select code from country").fetch_all(&nobody).await.unwrap();
    world.settles_at(0, "proven").await;

    let mut tx = acme.begin().await.unwrap();
    sqlx::query(AssertSqlSafe(world.as_globex(""))).execute(&mut tx).await.unwrap();
    assert_eq!(sqlx::query("select body from note").fetch_all(&mut tx).await.unwrap().len(), 3);
    sqlx::query(kill).execute(&mut tx).await.unwrap_err();
    assert!(matches!(tx.commit().await, Err(PgError::Interrupted)));
    world.settles_at(1, "it ended its own session").await;

    sqlx::query(kill).execute(&acme).await.unwrap_err();
    world.settles_at(2, "in a statement of its own").await;

    let mut tx = acme.begin().await.unwrap();
    sqlx::query(AssertSqlSafe(world.as_globex(""))).execute(&mut tx).await.unwrap();
    std::thread::scope(|threads| {
        threads.spawn(move || drop(tx));
    });
    world.settles_at(3, "dropped where no runtime is").await;

    let sql = world.as_globex(", body from note");
    let mut rows = sqlx::query(AssertSqlSafe(sql.as_str())).fetch(&acme);
    rows.try_next().await.unwrap().unwrap();
    drop(rows);
    world.settles_at(4, "a stream was dropped after its first row").await;

    let mut tx = acme.begin().await.unwrap();
    sqlx::query(AssertSqlSafe(world.as_globex(""))).execute(&mut tx).await.unwrap();
    sqlx::query("select 1/0").execute(&mut tx).await.unwrap_err();
    tx.rollback().await.unwrap();
    world.settles_at(5, "a failure before the rollback").await;

    let mut tx = acme.read().await.unwrap();
    sqlx::query("select 1/0").execute(&mut tx).await.unwrap_err();
    drop(tx);
    world.settles_at(6, "a failure before the drop").await;

    let mut tx = acme.begin().await.unwrap();
    sqlx::query("select 1/0").execute(&mut tx).await.unwrap_err();
    tx.commit().await.unwrap_err();
    world.settles_at(7, "a failure before the commit").await;

    let sql = world.as_globex(", code from country");
    let mut rows = sqlx::query(AssertSqlSafe(sql.as_str())).fetch(&nobody);
    rows.try_next().await.unwrap().unwrap();
    drop(rows);
    world.settles_at(8, "nobody's stream was dropped").await;
}

/// The only statement of its transaction is on record once, whoever asked for it, and costs no connection.
#[tokio::test]
async fn a_statement_that_the_server_refused_is_on_record_as_that() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let nobody = database.untenanted();
    let refused = async || -> Vec<String> {
        let records = world.tenants.audit().await;
        let refused = records.iter().filter(|r| r.rule() == Some("pg.refused"));
        let refused = refused.inspect(|r| assert_eq!(r.outcome().as_str(), "failed"));
        // Tenant's and nobody's are in chains of their own, which are in no order to each other.
        let all = refused.flat_map(|r| vec![r.action().to_owned(); usize::try_from(r.count()).unwrap()]);
        let mut all: Vec<String> = all.collect();
        all.sort_unstable();
        all
    };
    let pid = async || -> i32 { sqlx::query_scalar("select pg_backend_pid()").fetch_one(&nobody).await.unwrap() };
    let (first, mut expected) = (pid().await, Vec::new());
    for sql in ["select 1/0", "select * from nowhere", "select 1/(n - 3) from generate_series(1, 3) n", "table nowhere"]
    {
        sqlx::query(sql).fetch_all(&acme).await.unwrap_err();
        expected.push("pg.statement");
        assert_eq!(pid().await, first, "{sql}: of a tenant");
        sqlx::query(sql).fetch_all(&nobody).await.unwrap_err();
        expected.push("pg.untenanted");
        assert_eq!(pid().await, first, "{sql}: of nobody");
    }
    sqlx::Executor::describe(&nobody, sqlx::SqlSafeStr::into_sql_str("select * from nowhere")).await.unwrap_err();
    expected.push("pg.untenanted");
    assert_eq!(pid().await, first, "described");
    expected.sort_unstable();
    assert_eq!(refused().await, expected);
    assert_eq!(world.unproven().await, 0);

    // One that ends its session as well proves nothing.
    sqlx::query("select pg_terminate_backend(pg_backend_pid())").execute(&nobody).await.unwrap_err();
    world.settles_at(1, "it ended its own session").await;
    assert_eq!(refused().await, expected);
}

#[tokio::test]
async fn a_seed_that_somebody_chose_is_not_the_next_borrowers() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;
    for sql in [
        "select setseed(0.25)",
        "set seed = 0.25",
        "select set_config('seed', '0.25', false)",
        "select setseed(0.25), 1",
        "do $$ begin perform setseed(0.25); end $$",
        "select random() from (select setseed(0.25)) s",
    ] {
        let seeded = async || -> f64 {
            sqlx::query(AssertSqlSafe(smuggled(sql))).execute(&acme).await.unwrap();
            sqlx::query_scalar("select random()").fetch_one(&globex).await.unwrap()
        };
        let (first, second) = (seeded().await, seeded().await);
        assert!((first - second).abs() > 0.0, "{sql}: {first} twice");
    }
}

/// Fewer rows than a batch, and a reader that takes its time.
#[tokio::test]
async fn rows_end_soon_after_a_suspension() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let mut rows = sqlx::query("select generate_series(1, 50)").fetch(&acme);
    for _slowly in 0..3 {
        tokio::time::sleep(Duration::from_millis(120)).await;
        rows.try_next().await.unwrap().unwrap();
    }
    world.tenants.suspend("acme");
    tokio::time::sleep(Duration::from_millis(120)).await;
    let stopped = rows.try_next().await.unwrap_err();
    assert_eq!(Denial::of(&stopped), Some(Denial::TenantSuspended));
}
