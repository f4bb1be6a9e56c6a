//! A commit that nobody has heard of: its tenant reads from the primary until it is known to see it.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Executor};
use tenancy_pg::{Database, Inspected, TenantDb, danger};
use tenancy_testkit::proxy::Direction;
use tenancy_testkit::{FaultProxy, poll_times};

use crate::common::{GLOBEX, World, scalar};
use crate::replica::{Pair, Server, eventually, read};

const INSERT: &str = "insert into note (id, tenant_id, body) values ($1, $2, 'doubtful')";

/// A commit that takes as long as the server likes: a deferred trigger sleeps in it.
const SLOW: &str = "create function slow() returns trigger language plpgsql as
                        $$ begin perform pg_sleep(0.5); return null; end $$;
                    create constraint trigger slow after insert on note deferrable initially deferred
                        for each row when (new.body = 'slow') execute function slow()";

async fn insert(world: &World, acme: &TenantDb, id: i32, body: &str) -> Result<(), tenancy_pg::PgError> {
    let mut tx = acme.begin().await?;
    let sql = "insert into note (id, tenant_id, body) values ($1, $2, $3)";
    sqlx::query(sql).bind(id).bind(world.life("acme").uuid()).bind(body).execute(&mut tx).await?;
    tx.commit().await
}

/// Nothing of the service's is under way on the primary any more.
async fn settled(world: &World) {
    let busy = "select count(*) from pg_stat_activity where usename = 'app' and datname = current_database()
                and (state <> 'idle' or backend_xid is not null)";
    while scalar(&world.server.superuser_options(), busy).await > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Ways to lose the answer to a commit.
#[derive(Clone, Copy, Debug)]
enum Lost {
    /// The caller gives up.
    Dropped,
    /// The task panics, or is aborted.
    Aborted,
    /// The statement that stands for a transaction is dropped.
    StatementDropped,
    /// The network ends before the answer.
    Cut,
    /// The session is ended while it commits.
    Terminated,
    /// Somebody committed where nobody looks.
    HandedOut,
    /// The same, and then rolled back what came after.
    HandedOutAndRolledBack,
}

async fn lose(lost: Lost, world: &World, acme: &TenantDb, proxy: &FaultProxy, id: i32) {
    let give_up = Duration::from_millis(150);
    let own = world.life("acme").uuid();
    match lost {
        Lost::Dropped => {
            let committing = insert(world, acme, id, "slow");
            assert!(tokio::time::timeout(give_up, committing).await.is_err());
        }
        Lost::Aborted => {
            let mut tx = acme.begin().await.unwrap();
            let sql = "insert into note (id, tenant_id, body) values ($1, $2, 'slow')";
            sqlx::query(sql).bind(id).bind(own).execute(&mut tx).await.unwrap();
            let stopped = tokio::time::timeout(give_up, async {
                tx.commit().await.unwrap();
                panic!("committed in no time");
            });
            assert!(stopped.await.is_err());
        }
        Lost::StatementDropped => {
            let sql = "insert into note (id, tenant_id, body) values ($1, $2, 'slow')";
            let statement = sqlx::query(sql).bind(id).bind(own).execute(acme);
            assert!(tokio::time::timeout(give_up, statement).await.is_err());
        }
        Lost::Cut => {
            let mut tx = acme.begin().await.unwrap();
            sqlx::query(INSERT).bind(id).bind(own).execute(&mut tx).await.unwrap();
            // What is sent arrives, what is answered does not.
            proxy.stall(Direction::ToClient);
            let (committed, ()) = tokio::join!(tx.commit(), async {
                while world.rows_in_truth(&format!("id = {id}")).await == 0 {}
                proxy.close();
            });
            assert!(committed.is_err());
            proxy.resume();
        }
        Lost::Terminated => {
            let committing = insert(world, acme, id, "slow");
            let ending = async {
                let end = "select count(pg_terminate_backend(pid)) from pg_stat_activity
                           where usename = 'app' and datname = current_database() and wait_event = 'PgSleep'";
                while scalar(&world.server.superuser_options(), end).await == 0 {}
            };
            let (committed, ()) = tokio::join!(committing, ending);
            assert!(committed.is_err());
        }
        Lost::HandedOut | Lost::HandedOutAndRolledBack => {
            let mut tx = acme.begin().await.unwrap();
            let connection = danger::connection(&mut tx, "a test of what nobody looks at").await.unwrap();
            let sql =
                format!("insert into note (id, tenant_id, body) values ({id}, '{own}', 'doubtful'); commit; begin");
            connection.execute(AssertSqlSafe(sql)).await.unwrap();
            match lost {
                Lost::HandedOut => assert!(tx.commit().await.is_err(), "a breach"),
                _rolled_back => assert!(tx.rollback().await.is_err(), "a breach too"),
            }
        }
    }
}

#[tokio::test]
async fn after_an_unknown_outcome_a_tenant_reads_from_the_primary() {
    let pair = Pair::new().await;
    pair.world.server.run_as_owner(SLOW).await;
    let (proxy, primary) = pair.world.server.behind_a_proxy().await;
    let options = tenancy_pg::PgOptions::new(primary.app_options()).max_connections(2);
    let database: Database<Inspected> = pair.open_with(options.replica(pair.standby.app_options())).await.unwrap();
    let (acme, globex) = pair.served(&database).await;
    for (id, lost) in (100..).zip([
        Lost::Dropped,
        Lost::Aborted,
        Lost::StatementDropped,
        Lost::Cut,
        Lost::Terminated,
        Lost::HandedOut,
        Lost::HandedOutAndRolledBack,
    ]) {
        lose(lost, &pair.world, &acme, &proxy, id).await;
        settled(&pair.world).await;
        // However far the standby has come: nobody knows how far it must.
        pair.replica().catch_up().await;
        for _again in 0..3 {
            let (server, seen) = read(&acme).await;
            assert_eq!(server, Server::Primary, "{lost:?}");
            let truth = pair.world.rows_in_truth(&format!("tenant_id = '{}'", pair.world.life("acme").uuid())).await;
            assert_eq!(i64::try_from(seen.len()).unwrap(), truth, "{lost:?}");
        }
        assert_eq!(eventually(&globex, Server::Standby).await, GLOBEX, "{lost:?}: the neighbour");
        // What is committed after it settles it, and so does a look.
        if id % 2 == 0 {
            insert(&pair.world, &acme, id + 1000, "after").await.unwrap();
        } else {
            database.reinspect().await.unwrap();
        }
        pair.replica().catch_up().await;
        eventually(&acme, Server::Standby).await;
    }
}

/// Wherever the commit was dropped: a row that exists is seen by the next read, wherever that is served.
#[tokio::test]
async fn a_commit_dropped_after_any_poll_hides_nothing() {
    let pair = Pair::new().await;
    // The server takes its time and commits all the same.
    pair.world.server.run_as_owner(SLOW).await;
    let database = pair.open().await;
    let (acme, globex) = pair.served(&database).await;
    let own = pair.world.life("acme").uuid();
    let mut id = 100;
    let mut doubts = 0;
    for polls in 1.. {
        id += 1;
        pair.replica().pause_replay().await;
        let mut tx = acme.begin().await.unwrap();
        let sql = "insert into note (id, tenant_id, body) values ($1, $2, 'slow')";
        sqlx::query(sql).bind(id).bind(own).execute(&mut tx).await.unwrap();
        let done = poll_times(tx.commit(), polls).await;
        settled(&pair.world).await;
        let kept = pair.world.rows_in_truth(&format!("id = {id}")).await == 1;
        let (server, seen) = read(&acme).await;
        let truth = pair.world.rows_in_truth(&format!("tenant_id = '{own}'")).await;
        assert_eq!(i64::try_from(seen.len()).unwrap(), truth, "dropped after poll {polls}, kept: {kept}");
        assert!(!kept || server == Server::Primary, "dropped after poll {polls}");
        doubts += i32::from(kept && done.is_none());
        assert_eq!(eventually(&globex, Server::Standby).await, GLOBEX);
        pair.replica().resume_replay().await;
        pair.replica().catch_up().await;
        insert(&pair.world, &acme, id + 1000, "after").await.unwrap();
        pair.replica().catch_up().await;
        eventually(&acme, Server::Standby).await;
        if let Some(done) = done {
            done.unwrap();
            break;
        }
    }
    assert!(doubts > 0, "none was committed whose caller had given up");
}
