//! Transactions in other isolation levels and with other time-outs.

use std::time::Duration;

use sqlx::AssertSqlSafe;
use tenancy_pg::{Database, Isolation, PgError, PgOptions, TenantTx, TxOptions};
use tenancy_testkit::drop_at_every_poll;

use crate::common::{ACME, GLOBEX, World, bodies, smuggled};

async fn as_the_server_sees_it(tx: &mut TenantTx<'_>) -> String {
    let sql =
        "select concat_ws(' ', current_setting('transaction_isolation'), current_setting('transaction_read_only'),
                      current_setting('transaction_deferrable'), current_setting('lock_timeout'),
                      current_setting('statement_timeout'))";
    sqlx::query_scalar(sql).fetch_one(tx).await.unwrap()
}

const AS_EVER: &str = "read committed off off 0 30s";

fn every_kind() -> [(TxOptions, &'static str); 8] {
    let new = TxOptions::new;
    [
        (new(), AS_EVER),
        (new().read_only(), "read committed on off 0 30s"),
        (new().isolation(Isolation::ReadCommitted), AS_EVER),
        (new().isolation(Isolation::RepeatableRead), "repeatable read off off 0 30s"),
        (new().isolation(Isolation::Serializable).read_only(), "serializable on off 0 30s"),
        (new().deferrable(), "serializable on on 0 30s"),
        (new().lock_timeout(Duration::from_millis(70)), "read committed off off 70ms 30s"),
        (new().statement_timeout(Duration::from_secs(20)), "read committed off off 0 20s"),
    ]
}

#[tokio::test]
async fn a_transaction_is_as_asked_and_the_next_one_as_ever() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;
    for (options, expected) in every_kind() {
        let mut tx = acme.begin_with(options).await.unwrap();
        assert_eq!(as_the_server_sees_it(&mut tx).await, expected, "{options:?}");
        let seen: Vec<String> =
            sqlx::query_scalar("select body from note order by id").fetch_all(&mut tx).await.unwrap();
        assert_eq!(seen, ACME, "{options:?}");
        tx.commit().await.unwrap();
        assert_eq!(bodies(&globex).await, GLOBEX, "{options:?}");
        let mut next = globex.begin().await.unwrap();
        assert_eq!(as_the_server_sees_it(&mut next).await, AS_EVER, "{options:?}");
        next.rollback().await.unwrap();
    }
    let outcomes: Vec<_> = world.tenants.audit().await.iter().map(|r| r.outcome().as_str()).collect();
    assert!(!outcomes.contains(&"denied") && !outcomes.contains(&"failed"), "{outcomes:?}");
}

#[tokio::test]
async fn the_isolation_level_can_not_be_changed_from_inside() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    for sql in [
        "set transaction isolation level serializable",
        "set local transaction_isolation = 'repeatable read'",
        "select set_config('transaction_isolation', 'serializable', true)",
        "set transaction deferrable",
        "set transaction snapshot '00000003-00000001-1'",
    ] {
        let mut tx = acme.begin().await.unwrap();
        let refused = sqlx::query(AssertSqlSafe(smuggled(sql))).execute(&mut tx).await.unwrap_err();
        let code = refused.as_database_error().unwrap().code().unwrap().into_owned();
        assert!(["25001", "0A000"].contains(&code.as_str()), "{sql}: {code}");
    }
}

/// Two transactions that each read what the other writes.
#[tokio::test]
async fn serializable_transactions_do_not_pass_each_other() {
    let world = World::new().await;
    let options = PgOptions::new(world.server.app_options()).max_connections(2);
    let database = Database::open(world.tenants.realm(), options, &world.declaration).await.unwrap();
    let acme = world.scoped(&database, "acme").await;
    for (isolation, fails) in
        [(Isolation::ReadCommitted, false), (Isolation::RepeatableRead, false), (Isolation::Serializable, true)]
    {
        let options = TxOptions::new().isolation(isolation);
        let (mut one, mut two) = (acme.begin_with(options).await.unwrap(), acme.begin_with(options).await.unwrap());
        for (tx, id) in [(&mut one, 1), (&mut two, 2)] {
            let _count: i64 = sqlx::query_scalar("select count(*) from note").fetch_one(&mut *tx).await.unwrap();
            sqlx::query("update note set slug = slug where id = $1").bind(id).execute(tx).await.unwrap();
        }
        one.commit().await.unwrap();
        let second = two.commit().await;
        let code = second.err().map(|e| match e {
            PgError::Database(e) => e.sqlstate().map(str::to_owned),
            other => panic!("{other:?}"),
        });
        assert_eq!(code, fails.then(|| Some("40001".to_owned())), "{isolation:?}");
    }
}

#[tokio::test]
async fn a_lock_is_waited_for_no_longer_than_asked() {
    let world = World::new().await;
    let options = PgOptions::new(world.server.app_options()).max_connections(2);
    let database = Database::open(world.tenants.realm(), options, &world.declaration).await.unwrap();
    let acme = world.scoped(&database, "acme").await;
    let update = "update note set slug = slug where id = 1";
    let mut holder = acme.begin().await.unwrap();
    sqlx::query(update).execute(&mut holder).await.unwrap();

    let short = TxOptions::new().lock_timeout(Duration::from_millis(200));
    let mut waiter = acme.begin_with(short).await.unwrap();
    let refused = sqlx::query(update).execute(&mut waiter).await.unwrap_err();
    assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "55P03");
    waiter.rollback().await.unwrap();

    let brief = TxOptions::new().statement_timeout(Duration::from_millis(200));
    let mut waiter = acme.begin_with(brief).await.unwrap();
    let refused = sqlx::query(update).execute(&mut waiter).await.unwrap_err();
    assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "57014");
    waiter.rollback().await.unwrap();

    holder.rollback().await.unwrap();
    let mut free = acme.begin_with(short).await.unwrap();
    sqlx::query(update).execute(&mut free).await.unwrap();
    free.commit().await.unwrap();
}

#[tokio::test]
async fn an_opening_dropped_after_any_poll_leaves_the_next_borrower_clean() {
    let world = World::new().await;
    let database = world.open().await;
    let acme = world.scoped(&database, "acme").await;
    let globex = world.scoped(&database, "globex").await;
    for options in [TxOptions::new().deferrable(), TxOptions::new().isolation(Isolation::RepeatableRead)] {
        let polls = drop_at_every_poll(
            || acme.begin_with(options.lock_timeout(Duration::from_millis(70))),
            async |polls, tx| {
                drop(tx);
                let mut next = globex.begin().await.unwrap();
                assert_eq!(as_the_server_sees_it(&mut next).await, AS_EVER, "{options:?}, dropped after poll {polls}");
                next.rollback().await.unwrap();
                assert_eq!(bodies(&globex).await, GLOBEX);
            },
        )
        .await;
        assert!(polls > 1);
    }
}
