//! The server goes down in the middle of a scoped transaction and comes back (P18).

use std::time::Duration;

use futures_util::TryStreamExt;
use sqlx::Connection;
use sqlx::postgres::PgConnection;
use tenancy_pg::{Database, Inspected, Mode, PgOptions, TenantDb};
use tenancy_testkit::{TestDatabase, ThrowawayPostgres};

use crate::common::{ACME, GLOBEX, World, declaration};

/// The death of one backend without a word makes the server end every other session, recover and start again.
pub(crate) async fn crash(server: &TestDatabase) {
    let mut bystander = PgConnection::connect_with(&server.superuser_options()).await.unwrap();
    let mut victim = PgConnection::connect_with(&server.superuser_options()).await.unwrap();
    let pid: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut victim).await.unwrap();
    assert!(std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success());
    // It is gone at once, and the others once the server has noticed.
    while sqlx::query("select 1").execute(&mut bystander).await.is_ok() {}
}

async fn bodies(db: &TenantDb) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar("select body from note order by id").fetch_all(db).await
}

/// Until the server is back: what comes then is right at once.
async fn served_again(db: &TenantDb, expected: &[&str], what: &str) {
    for _wait in 0..200 {
        if let Ok(seen) = bodies(db).await {
            assert_eq!(seen, expected, "{what}");
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{what}: the pool did not recover");
}

#[derive(Clone, Copy, Debug)]
enum When {
    Idle,
    BetweenStatements,
    InAStatement,
    BeforeTheCommit,
    InARead,
    InAStream,
    Waiting,
}

#[tokio::test]
async fn a_crash_ends_the_transaction_and_the_pool_recovers() {
    let server = ThrowawayPostgres::start().await.unwrap();
    let world = World::on(&server).await;
    // The test server commits without waiting for its log: a crash would undo the policies with it.
    world.server.run("checkpoint").await;
    for mode in [Mode::Local, Mode::Sticky] {
        let options = PgOptions::new(world.server.app_options()).max_connections(2).mode(mode);
        let database: Database<Inspected> =
            Database::open(world.tenants.realm(), options, &declaration()).await.unwrap();
        let (acme, globex) = (world.scoped(&database, "acme").await, world.scoped(&database, "globex").await);
        let own = world.life("acme").uuid();
        for when in [
            When::Idle,
            When::BetweenStatements,
            When::InAStatement,
            When::BeforeTheCommit,
            When::InARead,
            When::InAStream,
            When::Waiting,
        ] {
            let what = format!("{mode:?}, {when:?}");
            served_again(&acme, &ACME, &what).await;
            let write = async |tx: &mut tenancy_pg::TenantTx<'_>| {
                let sql = "insert into note (id, tenant_id, body) values (100, $1, 'half')";
                sqlx::query(sql).bind(own).execute(tx).await.unwrap();
            };
            match when {
                When::Idle => crash(&world.server).await,
                When::BetweenStatements => {
                    let mut tx = acme.begin().await.unwrap();
                    write(&mut tx).await;
                    crash(&world.server).await;
                    while sqlx::query("select 1").execute(&mut tx).await.is_ok() {}
                    assert!(tx.commit().await.is_err(), "{what}");
                }
                When::InAStatement => {
                    let mut tx = acme.begin().await.unwrap();
                    write(&mut tx).await;
                    let (slept, ()) =
                        tokio::join!(sqlx::query("select pg_sleep(60)").execute(&mut tx), crash(&world.server));
                    assert!(slept.is_err(), "{what}");
                    assert!(tx.rollback().await.is_err(), "{what}: nothing was proven");
                }
                When::BeforeTheCommit => {
                    let mut tx = acme.begin().await.unwrap();
                    write(&mut tx).await;
                    let mut other = globex.begin().await.unwrap();
                    crash(&world.server).await;
                    while sqlx::query("select 1").execute(&mut other).await.is_ok() {}
                    assert!(tx.commit().await.is_err(), "{what}");
                }
                When::InARead => {
                    let mut tx = acme.read().await.unwrap();
                    crash(&world.server).await;
                    while sqlx::query("select 1").execute(&mut tx).await.is_ok() {}
                }
                When::InAStream => {
                    let sql = "select body from note, generate_series(1, 1000000) order by 1";
                    let mut rows = sqlx::query(sql).fetch(&acme);
                    let first = rows.try_next().await.unwrap();
                    assert!(first.is_some(), "{what}");
                    crash(&world.server).await;
                    let mut ended = rows.try_next().await;
                    while let Ok(Some(_row)) = ended {
                        ended = rows.try_next().await;
                    }
                    assert!(ended.is_err(), "{what}: a stream that breaks off says so");
                }
                When::Waiting => {
                    let one = acme.begin().await.unwrap();
                    let two = acme.begin().await.unwrap();
                    let waits = bodies(&globex);
                    let (seen, ()) = tokio::join!(waits, async {
                        crash(&world.server).await;
                        drop((one, two));
                    });
                    assert!(seen.is_err() || seen.unwrap() == GLOBEX, "{what}");
                }
            }
            served_again(&globex, &GLOBEX, &what).await;
            served_again(&acme, &ACME, &what).await;
            let both = tokio::join!(acme.begin(), globex.begin());
            assert!(both.0.is_ok() && both.1.is_ok(), "{what}: as many connections as before");
        }
    }
}
