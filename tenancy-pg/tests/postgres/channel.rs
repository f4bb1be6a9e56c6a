//! Locks and channels of one tenant, and word of the directory's changes.

use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Executor};
use tenancy_core::Denial;
use tenancy_pg::{Database, Heard, Inspected, PgError, PgOptions};
use tenancy_testkit::drop_at_every_poll;

use crate::common::{World, bodies, scalar};

async fn open(world: &World) -> Database<Inspected> {
    let options =
        PgOptions::new(world.server.app_options()).max_connections(3).lock_timeout(Duration::from_millis(300));
    Database::open(world.tenants.realm(), options, &world.declaration).await.unwrap()
}

fn text(heard: Heard) -> String {
    match heard {
        Heard::Message(message) => String::from_utf8(message.to_vec()).unwrap(),
        _other => "missed".to_owned(),
    }
}

#[tokio::test]
async fn a_lock_is_one_tenants_and_one_names_and_one_transactions() {
    let world = World::new().await;
    let database = open(&world).await;
    let (acme, globex) = (world.scoped(&database, "acme").await, world.scoped(&database, "globex").await);
    let mut holder = acme.begin().await.unwrap();
    holder.lock("import").await.unwrap();
    assert!(holder.try_lock("import").await.unwrap(), "its own");
    let mut other = acme.begin().await.unwrap();
    assert!(!other.try_lock("import").await.unwrap());
    assert!(other.try_lock("import ").await.unwrap(), "another name");
    let mut theirs = globex.begin().await.unwrap();
    assert!(theirs.try_lock("import").await.unwrap(), "another tenant's of the same name");
    let waited = other.lock("import").await.unwrap_err();
    assert!(matches!(&waited, PgError::Database(e) if e.sqlstate() == Some("55P03")), "{waited:?}");
    drop((other, theirs));
    holder.commit().await.unwrap();
    let mut next = acme.read().await.unwrap();
    assert!(next.try_lock("import").await.unwrap(), "free after the end");
    next.rollback().await.unwrap();
    let mut dropped = acme.begin().await.unwrap();
    dropped.lock("import").await.unwrap();
    drop(dropped);
    acme.begin().await.unwrap().lock("import").await.unwrap();
}

#[tokio::test]
async fn a_message_reaches_the_tenants_own_listeners_of_the_channel_after_the_commit() {
    let world = World::new().await;
    let database = open(&world).await;
    let (acme, globex) = (world.scoped(&database, "acme").await, world.scoped(&database, "globex").await);
    let (mut mine, mut theirs) = (acme.listen("docs").await.unwrap(), globex.listen("docs").await.unwrap());
    let mut elsewhere = acme.listen("jobs").await.unwrap();
    let mut lost = acme.begin().await.unwrap();
    lost.notify("docs", b"rolled back").await.unwrap();
    lost.rollback().await.unwrap();
    for message in ["one", "one", "two"] {
        let mut tx = acme.begin().await.unwrap();
        tx.notify("docs", message.as_bytes()).await.unwrap();
        tx.notify("docs", message.as_bytes()).await.unwrap();
        tx.commit().await.unwrap();
    }
    for message in ["one", "one", "one", "one", "two", "two"] {
        assert_eq!(text(mine.next().await.unwrap()), message);
    }
    // The others hear nothing of it, and what comes after.
    for (db, channel, listener) in [(&globex, "docs", &mut theirs), (&acme, "jobs", &mut elsewhere)] {
        let mut tx = db.begin().await.unwrap();
        tx.notify(channel, b"last").await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(text(listener.next().await.unwrap()), "last");
    }
    let mut tx = acme.begin().await.unwrap();
    assert!(matches!(tx.notify("docs", &[0; 3801]).await, Err(PgError::MessageTooLong)));
    tx.notify("docs", &[b'x'; 3800]).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(text(mine.next().await.unwrap()).len(), 3800);
}

/// Whoever knows a channel's name, a listener's own database session say, can't speak in it.
#[tokio::test]
async fn what_the_tenant_did_not_send_does_not_open() {
    let world = World::new().await;
    let database = open(&world).await;
    let (acme, globex) = (world.scoped(&database, "acme").await, world.scoped(&database, "globex").await);
    let mut mine = acme.listen("docs").await.unwrap();
    let mut theirs = globex.listen("docs").await.unwrap();
    let of = "select split_part(query, '\"', 2) from pg_stat_activity where query like 'LISTEN%' and datname = current_database()
              order by backend_start limit 1";
    let mut superuser = PgConnection::connect_with(&world.server.superuser_options()).await.unwrap();
    let name: String = sqlx::query_scalar(of).fetch_one(&mut superuser).await.unwrap();
    assert_eq!(name.len(), 8 + 52, "{name}");
    // A message of another tenant's, replayed in this one's channel.
    let mut tx = globex.begin().await.unwrap();
    tx.notify("docs", b"from globex").await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(text(theirs.next().await.unwrap()), "from globex");
    for payload in ["", "hello", "00", "zz", &"00".repeat(120)] {
        let forged = format!("select pg_notify('{name}', '{payload}')");
        superuser.execute(AssertSqlSafe(forged)).await.unwrap();
    }
    let mut tx = acme.begin().await.unwrap();
    tx.notify("docs", b"mine").await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(text(mine.next().await.unwrap()), "mine", "the five others are passed over");
    assert!(world.tenants.denied_rules().await.iter().any(|rule| rule.starts_with("seal.")));
}

#[tokio::test]
async fn a_lost_connection_is_had_again_and_told() {
    let world = World::new().await;
    let database = open(&world).await;
    let acme = world.scoped(&database, "acme").await;
    let mut mine = acme.listen("docs").await.unwrap();
    let kill = "select count(pg_terminate_backend(pid)) from pg_stat_activity where query like 'LISTEN%' and datname = current_database()";
    for message in ["one", "two"] {
        assert_eq!(scalar(&world.server.superuser_options(), kill).await, 1);
        assert_eq!(text(mine.next().await.unwrap()), "missed");
        let mut tx = acme.begin().await.unwrap();
        tx.notify("docs", message.as_bytes()).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(text(mine.next().await.unwrap()), message);
    }
    // However often its futures are dropped, the loss is told.
    assert_eq!(scalar(&world.server.superuser_options(), kill).await, 1);
    let mut told = 0;
    for polls in 1..200 {
        if let Some(heard) = tenancy_testkit::poll_times(mine.next(), polls).await {
            assert_eq!(text(heard.unwrap()), "missed");
            told += 1;
            break;
        }
    }
    assert_eq!(told, 1);
}

#[tokio::test]
async fn a_listener_ends_with_its_tenant_and_their_number_is_bounded() {
    let world = World::new().await;
    let database = open(&world).await;
    let acme = world.scoped(&database, "acme").await;
    let mut listeners = Vec::new();
    for _place in 0..16 {
        listeners.push(acme.listen("docs").await.unwrap());
    }
    assert!(matches!(acme.listen("docs").await, Err(PgError::Busy)));
    drop(listeners.pop());
    let mut last = acme.listen("docs").await.unwrap();
    assert_eq!(bodies(&acme).await.len(), 2, "they take no connection of the pool");
    world.tenants.suspend("acme");
    assert_eq!(last.next().await.unwrap_err().denial(), Some(Denial::TenantSuspended));
}

#[tokio::test]
async fn a_dropped_listen_leaves_its_place() {
    let world = World::new().await;
    let database = open(&world).await;
    let (acme, globex) = (world.scoped(&database, "acme").await, world.scoped(&database, "globex").await);
    drop_at_every_poll(
        || async { drop(acme.listen("docs").await.unwrap()) },
        async |k, _| assert_eq!(bodies(&globex).await.len(), 3, "poll {k}"),
    )
    .await;
    let mut all = Vec::new();
    for _place in 0..16 {
        all.push(acme.listen("docs").await.unwrap());
    }
}
