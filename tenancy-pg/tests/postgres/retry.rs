//! Transactions that are run again.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sqlx::AssertSqlSafe;
use tenancy_core::Denial;
use tenancy_pg::{Database, Isolation, PgError, PgOptions, RetryOptions, TenantDb, TxOptions};
use tenancy_testkit::drop_at_every_poll;
use tenancy_testkit::proxy::{After, Direction, Fault};
use tokio::sync::Barrier;

use crate::common::{ACME, GLOBEX, World, bodies, smuggled};

/// The error of a service of its own, which knows the driver's and ours.
#[derive(Debug, thiserror::Error)]
enum Mine {
    #[error("not enough seats")]
    Full,
    #[error("could not ask")]
    Ask(#[source] sqlx::Error),
    #[error(transparent)]
    Pg(#[from] PgError),
}

impl World {
    async fn two(&self) -> TenantDb {
        let options = PgOptions::new(self.server.app_options()).max_connections(2);
        let database = Database::open(self.tenants.realm(), options, &self.declaration).await.unwrap();
        self.scoped(&database, "acme").await
    }
}

fn quick() -> RetryOptions {
    RetryOptions::new().pause(Duration::from_millis(1), Duration::from_millis(4))
}

fn serializable() -> RetryOptions {
    quick().transaction(TxOptions::new().isolation(Isolation::Serializable))
}

async fn rename(db: &TenantDb, options: TxOptions, id: i32) -> Result<(), PgError> {
    let mut tx = db.begin_with(options).await?;
    let _read: i64 = sqlx::query_scalar("select count(*) from note").fetch_one(&mut tx).await?;
    sqlx::query("update note set slug = slug || 'x' where id = $1").bind(id).execute(&mut tx).await?;
    tx.commit().await
}

/// The server finds out at the statement, or only at the commit, and either way the second attempt is a transaction of its
/// own that sees what the first could not.
#[tokio::test]
async fn a_serialization_failure_is_run_again() {
    let world = World::new().await;
    let acme = world.two().await;
    let repeatable = TxOptions::new().isolation(Isolation::RepeatableRead);
    let strict = TxOptions::new().isolation(Isolation::Serializable);
    for (what, options, rival) in
        [("at the statement", repeatable, 1), ("at the commit", strict, 2), ("at the statement, again", strict, 1)]
    {
        let (mut attempts, seen) = (0, Mutex::new(Vec::new()));
        let slug: String = acme
            .with_retry(quick().transaction(options), |tx| {
                attempts += 1;
                let (first, seen, acme) = (attempts == 1, &seen, &acme);
                Box::pin(async move {
                    let started: String = sqlx::query_scalar("select now()::text").fetch_one(&mut *tx).await?;
                    let _read: i64 = sqlx::query_scalar("select count(*) from note").fetch_one(&mut *tx).await?;
                    seen.lock().unwrap().push(started);
                    if first {
                        rename(acme, options, rival).await?;
                    }
                    let slug = "update note set slug = slug || 'y' where id = 1 returning slug";
                    Ok::<_, PgError>(sqlx::query_scalar(slug).fetch_one(tx).await?)
                })
            })
            .await
            .unwrap();
        assert_eq!(attempts, 2, "{what}");
        let seen = seen.into_inner().unwrap();
        assert_ne!(seen[0], seen[1], "{what}: a fresh transaction");
        assert_eq!(world.rows_in_truth(&format!("id = 1 and slug = '{slug}'")).await, 1, "{what}: kept");
        assert_eq!(slug.matches('y').count(), 1, "{what}: and only once");
        sqlx::query("update note set slug = case id when 1 then 'a' else 'b' end").execute(&acme).await.unwrap();
    }
    assert_eq!(bodies(&acme).await, ACME);
}

/// Two that lock the same rows the other way round. One is given up, and both are done in the end.
#[tokio::test]
async fn a_deadlock_is_run_again() {
    let world = World::new().await;
    let quickly = format!("alter database {} set deadlock_timeout = '20ms'", world.server.name());
    world.server.run(&quickly).await;
    let acme = world.two().await;
    let (barrier, attempts) = (Barrier::new(2), AtomicU32::new(0));
    let one = async |first: i32, second: i32| {
        let mut mine = 0;
        acme.with_retry(quick(), |tx| {
            mine += 1;
            let (first_time, attempts, barrier) = (mine == 1, &attempts, &barrier);
            Box::pin(async move {
                attempts.fetch_add(1, Ordering::SeqCst);
                let touch = "update note set slug = slug || 'z' where id = $1";
                sqlx::query(touch).bind(first).execute(&mut *tx).await.map_err(Mine::Ask)?;
                if first_time {
                    barrier.wait().await;
                }
                sqlx::query(touch).bind(second).execute(tx).await.map_err(Mine::Ask)?;
                Ok::<_, Mine>(())
            })
        })
        .await
    };
    let (a, b) = tokio::join!(one(1, 2), one(2, 1));
    a.unwrap();
    b.unwrap();
    assert_eq!(attempts.load(Ordering::SeqCst), 3, "one of the two ran twice");
    assert_eq!(world.rows_in_truth("slug in ('azz', 'bzz')").await, 2);
}

/// What else may go wrong is told at once; what the server gave up is told after the last attempt.
#[tokio::test]
async fn nothing_else_is_run_again_and_nothing_for_ever() {
    let world = World::new().await;
    let acme = world.two().await;
    let raise = |code: &str| smuggled(&format!("do $$ begin raise exception using errcode = '{code}'; end $$"));
    for (code, most, expected) in [
        ("40001", 3, 3),
        ("40P01", 2, 2),
        ("40001", 1, 1),
        ("40001", 0, 1),
        ("40003", 5, 1),
        ("40002", 5, 1),
        ("23505", 5, 1),
        ("55P03", 5, 1),
        ("57014", 5, 1),
        ("P0001", 5, 1),
    ] {
        let mut attempts = 0;
        let failed: Result<(), Mine> = acme
            .with_retry(serializable().attempts(most), |tx| {
                attempts += 1;
                Box::pin(async {
                    sqlx::query(AssertSqlSafe(raise(code))).execute(tx).await.map_err(Mine::Ask)?;
                    Ok(())
                })
            })
            .await;
        let Err(Mine::Ask(error)) = failed else { panic!("{code}: {failed:?}") };
        assert_eq!(error.as_database_error().unwrap().code().unwrap(), code);
        assert_eq!(attempts, expected, "{code}, {most}");
    }
    let mut attempts = 0;
    let full: Result<(), Mine> = acme
        .with_retry(quick(), |tx| {
            attempts += 1;
            Box::pin(async {
                sqlx::query("update note set body = 'gone'").execute(tx).await.map_err(Mine::Ask)?;
                Err(Mine::Full)
            })
        })
        .await;
    assert!(matches!(full, Err(Mine::Full)) && attempts == 1, "{full:?}");
    assert_eq!(bodies(&acme).await, ACME, "rolled back");
    // An error that was swallowed leaves a transaction that keeps nothing, and is no success.
    let swallowed: Result<(), PgError> = acme
        .with_retry(quick(), |tx| {
            Box::pin(async {
                let _swallowed = sqlx::query(AssertSqlSafe(raise("40001"))).execute(tx).await;
                Ok(())
            })
        })
        .await;
    assert!(matches!(swallowed, Err(PgError::Database(e)) if e.sqlstate() == Some("25P02")));
    // A breach hides what the work says, whatever the code.
    let pretend = format!("select pretend('{}')", world.life("globex").uuid());
    let breach: Result<(), Mine> = acme
        .with_retry(quick(), |tx| {
            Box::pin(async {
                sqlx::query(AssertSqlSafe(pretend.as_str())).execute(tx).await.map_err(Mine::Ask)?;
                Err(Mine::Full)
            })
        })
        .await;
    assert!(matches!(breach, Err(Mine::Pg(PgError::Denied(Denial::StoreBreach)))), "{breach:?}");
}

/// The connection breaks after the commit was sent. It may have happened, so nobody tries again.
#[tokio::test]
async fn a_commit_whose_outcome_is_unknown_is_not_run_again() {
    let world = World::new().await;
    let (proxy, behind) = world.server.behind_a_proxy().await;
    let options = PgOptions::new(behind.app_options()).max_connections(1);
    let database = Database::open(world.tenants.realm(), options, &world.declaration).await.unwrap();
    let acme = world.scoped(&database, "acme").await;
    let own = world.life("acme").uuid();
    for fault in [Fault::Close, Fault::Reset] {
        let mut attempts = 0;
        let ended: Result<(), PgError> = acme
            .with_retry(serializable(), |tx| {
                attempts += 1;
                Box::pin(async {
                    sqlx::query("insert into note values (90, $1, 'new')").bind(own).execute(tx).await?;
                    // The server sends its answer once all of it is done, and one message of it gets through.
                    proxy.plan(Direction::ToClient, After::Messages(1), fault);
                    Ok(())
                })
            })
            .await;
        proxy.resume();
        assert!(matches!(ended, Err(PgError::Driver(_))), "{ended:?}");
        assert_eq!(attempts, 1, "{fault:?}");
        // It has happened; a second attempt would have found its own row there.
        for _arriving in 0..100 {
            if world.rows_in_truth("id = 90").await == 1 {
                break;
            }
        }
        assert_eq!(world.rows_in_truth("id = 90").await, 1, "{fault:?}");
        world.server.run("delete from note where id = 90").await;
    }
}

/// No pause goes beyond the context's deadline: the last error is told while there is still somebody to hear it.
#[tokio::test]
async fn no_pause_goes_beyond_the_deadline() {
    let world = World::new().await;
    let acme = world.two().await;
    let left = acme.context().remaining();
    assert!(left < Duration::from_secs(24 * 3600), "{left:?}");
    let forever = RetryOptions::new().pause(left * 1000, left * 1000).attempts(u32::MAX);
    let mut attempts = 0;
    let raise = smuggled("do $$ begin raise exception using errcode = '40001'; end $$");
    let work = acme.with_retry(forever, |tx| {
        attempts += 1;
        Box::pin(async {
            sqlx::query(AssertSqlSafe(raise.as_str())).execute(tx).await?;
            Ok::<_, PgError>(())
        })
    });
    let failed = tokio::time::timeout(left / 2, work).await.expect("it answers, and does not wait");
    assert!(matches!(failed, Err(PgError::Database(e)) if e.sqlstate() == Some("40001")));
    assert_eq!(attempts, 1);
}

/// Dropped after any number of polls, it leaves nothing open and nothing of a half-done attempt.
#[tokio::test]
async fn dropped_at_any_poll_it_leaves_nothing_behind() {
    let world = World::new().await;
    let options = PgOptions::new(world.server.app_options()).max_connections(1);
    let database = Database::open(world.tenants.realm(), options, &world.declaration).await.unwrap();
    let (acme, globex) = (world.scoped(&database, "acme").await, world.scoped(&database, "globex").await);
    let raise = smuggled("do $$ begin raise exception using errcode = '40001'; end $$");
    let polled = drop_at_every_poll(
        || async {
            let mut attempts = 0;
            let done: Result<(), PgError> = acme
                .with_retry(quick(), |tx| {
                    attempts += 1;
                    let (first, raise) = (attempts == 1, raise.as_str());
                    Box::pin(async move {
                        sqlx::query("update note set slug = slug || 'w' where id = 1").execute(&mut *tx).await?;
                        if first {
                            sqlx::query(AssertSqlSafe(raise)).execute(tx).await?;
                        }
                        Ok(())
                    })
                })
                .await;
            done.unwrap();
        },
        async |polls, _ended| {
            assert_eq!(bodies(&globex).await, GLOBEX, "after poll {polls}");
            assert_eq!(world.rows_in_truth("slug ~ 'ww'").await, 0, "after poll {polls}: twice");
            world.server.run("update note set slug = 'a' where id = 1").await;
        },
    )
    .await;
    assert!(polled > 2, "{polled}");
}

/// It can be spawned, and what it gives back is the work's.
#[tokio::test]
async fn it_runs_where_futures_have_to_be_sent() {
    let world = World::new().await;
    let acme = world.two().await;
    let task = tokio::spawn(async move {
        let body = "new".to_owned();
        acme.with_retry(serializable(), |tx| {
            Box::pin(async {
                sqlx::query("update note set body = $1 where id = 1").bind(&body).execute(&mut *tx).await?;
                let mut savepoint = tx.savepoint().await?;
                let count: i64 = sqlx::query_scalar("select count(*) from note").fetch_one(&mut savepoint).await?;
                savepoint.release().await?;
                Ok::<_, PgError>(count)
            })
        })
        .await
    });
    assert_eq!(task.await.unwrap().unwrap(), 2);
    assert_eq!(world.rows_in_truth("body = 'new'").await, 1);
}
