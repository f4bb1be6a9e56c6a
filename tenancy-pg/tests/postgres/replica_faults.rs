//! A standby that is none, or not of this primary, or dead: reads go on, and on the primary.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sqlx::Connection;
use sqlx::postgres::PgConnection;
use tenancy_core::{Metric, Recorder};
use tenancy_pg::{Database, Inspected, OnFailure, PgError, PgOptions, ReplicaFault};
use tenancy_testkit::proxy::Direction;
use tenancy_testkit::{TestDatabase, TestTenants, ThrowawayPostgres};

use crate::common::{ACME, GLOBEX, World, plain_role};
use crate::replica::{Pair, Server, eventually, read};
use crate::restart::crash;

/// A row that only this server has, and that looks like acme's.
async fn plant(server: &TestDatabase, world: &World) {
    let own = world.life("acme").uuid();
    server.run(&format!("insert into note (id, tenant_id, body) values (900, '{own}', 'of another branch')")).await;
}

async fn end_sessions(server: &TestDatabase) {
    server.run("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'app'").await;
}

/// Reads go on, see what the primary has, and do not come from anywhere else.
async fn served_by_the_primary(database: &Database<Inspected>, world: &World, what: &str) {
    let (acme, globex) = (world.scoped(database, "acme").await, world.scoped(database, "globex").await);
    for _again in 0..3 {
        assert_eq!(read(&acme).await, (Server::Primary, ACME.map(str::to_owned).to_vec()), "{what}");
        assert_eq!(read(&globex).await, (Server::Primary, GLOBEX.map(str::to_owned).to_vec()), "{what}");
    }
}

/// Not what it is said to be, when the database is opened.
#[tokio::test]
async fn what_is_no_standby_of_this_database_is_refused() {
    let (pair, other) = (Pair::new().await, Pair::apart().await);
    pair.world.server.run("create database elsewhere").await;
    pair.world.server.run_as_owner("grant select on note, country to public").await;
    let reader = plain_role(&pair.world.server, "reader").await;
    pair.replica().catch_up().await;
    let elsewhere = pair.standby.app_options().database("elsewhere");
    let as_another = pair.standby.options("reader");
    let _there = PgConnection::connect_with(&reader).await.unwrap();
    for (what, standby, fault) in [
        ("the primary itself", pair.world.server.app_options(), ReplicaFault::NoStandby),
        ("another cluster's primary", other.world.server.app_options(), ReplicaFault::NoStandby),
        ("another cluster's standby", other.standby.app_options(), ReplicaFault::Foreign),
        ("another database", elsewhere, ReplicaFault::Foreign),
        ("another role", as_another, ReplicaFault::Foreign),
        ("its superuser", pair.standby.superuser_options(), ReplicaFault::Foreign),
    ] {
        let refused = pair.open_with(pair.world.options().replica(standby)).await.unwrap_err();
        assert!(matches!(refused, PgError::Replica(found) if found == fault), "{what}: {refused:?}");
    }
    let refused = pair.open_with(pair.world.options().replica(pair.standby.options("nobody_here"))).await.unwrap_err();
    assert!(matches!(&refused, PgError::Database(e) if e.sqlstate() == Some("28000")), "{refused:?}");
    let options = PgOptions::new(pair.standby.app_options()).replica(pair.standby.app_options());
    let refused = pair.open_with(options).await.unwrap_err();
    assert!(matches!(refused, PgError::Replica(ReplicaFault::NoPrimary)), "{refused:?}");

    other.replica().promote().await;
    let options = other.world.options().replica(other.standby.app_options());
    let refused = other.open_with(options).await.unwrap_err();
    assert!(matches!(refused, PgError::Replica(ReplicaFault::NoStandby)), "{refused:?}");
    pair.served(&pair.open().await).await;
}

#[tokio::test]
async fn a_standby_that_was_promoted_is_not_read_from() {
    let pair = Pair::apart().await;
    let database = pair.open().await;
    let (acme, _) = pair.served(&database).await;
    let open_before = acme.read().await;
    pair.replica().promote().await;
    plant(&pair.standby, &pair.world).await;
    drop(open_before);
    served_by_the_primary(&database, &pair.world, "promoted").await;
    end_sessions(&pair.standby).await;
    served_by_the_primary(&database, &pair.world, "promoted, and connected to anew").await;
    let told = database.reinspect().await.unwrap_err();
    assert!(matches!(told, PgError::Replica(ReplicaFault::NoStandby)), "{told:?}");
    served_by_the_primary(&database, &pair.world, "promoted, and looked at").await;
    let _watch = database.watch(Duration::from_millis(20), OnFailure::Refuse);
    for _wait in 0..500 {
        let records = pair.world.tenants.audit().await;
        if records.iter().any(|record| record.rule() == Some("pg.replica")) {
            served_by_the_primary(&database, &pair.world, "promoted, and watched").await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("nobody was told");
}

/// A failover that the replica has no part in: it follows the primary of before, whose log goes on past the place at which
/// the new one began another.
#[tokio::test]
async fn a_standby_of_the_primary_of_before_is_not_read_from() {
    let pair = Pair::apart().await;
    let successor = pair.primary().replica().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("primary");
    let lead_to = |server: &TestDatabase| {
        let _none_yet = std::fs::remove_file(&name);
        std::os::unix::fs::symlink(server.socket().unwrap().parent().unwrap(), &name).unwrap();
    };
    lead_to(&pair.world.server);
    let options = PgOptions::new(pair.world.server.app_options().socket(&name)).max_connections(1);
    let database = pair.open_with(options.replica(pair.standby.app_options())).await.unwrap();
    let (acme, globex) = pair.served(&database).await;
    assert_eq!(sqlx::query("update note set body = body").execute(&acme).await.unwrap().rows_affected(), 2);
    successor.catch_up().await;
    successor.promote().await;
    lead_to(&successor.database(&pair.world.server));
    end_sessions(&pair.world.server).await;
    // As far as the new primary's log may come, and further.
    plant(&pair.world.server, &pair.world).await;
    pair.world
        .server
        .run("select pg_logical_emit_message(false, 'x', repeat('x', 1000)) from generate_series(1, 9000)")
        .await;
    pair.replica().catch_up().await;
    sqlx::query("update note set body = body").execute(&acme).await.unwrap();
    served_by_the_primary(&database, &pair.world, "after the first commit there").await;
    database.reinspect().await.unwrap();
    served_by_the_primary(&database, &pair.world, "after a look").await;
    assert_eq!(read(&globex).await.1, GLOBEX);
}

/// The name leads somewhere else from one connection to the next.
#[tokio::test]
async fn a_name_that_leads_to_another_server_is_found_out() {
    let (pair, other) = (Pair::apart().await, Pair::apart().await);
    // Alike but for the cluster: the same database, role, tables and tenants.
    let promoted = Pair::apart().await;
    promoted.replica().promote().await;
    for server in [&other.world.server, &promoted.standby] {
        plant(server, &pair.world).await;
    }
    other.replica().catch_up().await;
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("standby");
    let lead_to = |server: &TestDatabase| {
        let _none_yet = std::fs::remove_file(&name);
        std::os::unix::fs::symlink(server.socket().unwrap().parent().unwrap(), &name).unwrap();
    };
    lead_to(&pair.standby);
    let database =
        pair.open_with(pair.world.options().replica(pair.standby.app_options().socket(&name))).await.unwrap();
    for (what, there) in [
        ("a standby of another cluster", &other.standby),
        ("the primary of another cluster", &other.world.server),
        ("a promoted standby", &promoted.standby),
        ("the primary", &pair.world.server),
    ] {
        pair.served(&database).await;
        lead_to(there);
        end_sessions(&pair.standby).await;
        served_by_the_primary(&database, &pair.world, what).await;
        assert!(matches!(database.reinspect().await, Err(PgError::Replica(_))), "{what}");
        served_by_the_primary(&database, &pair.world, what).await;
        lead_to(&pair.standby);
    }
    pair.served(&database).await;
    database.reinspect().await.unwrap();
}

#[tokio::test]
async fn a_standby_that_dies_fails_no_read_and_is_read_from_again() {
    let pair = Pair::apart().await;
    let (proxy, standby) = pair.standby.behind_a_proxy().await;
    let database = pair.open_with(pair.world.options().replica(standby.app_options())).await.unwrap();
    for what in ["cut", "refusing", "silent", "silent once asked", "starting again"] {
        let (acme, globex) = pair.served(&database).await;
        match what {
            "cut" => {
                proxy.refuse(true);
                proxy.close();
            }
            "refusing" => {
                proxy.refuse(true);
                end_sessions(&pair.standby).await;
            }
            "silent" => proxy.stall(Direction::ToClient),
            "silent once asked" => {
                proxy.close();
                proxy.stall(Direction::ToServer);
            }
            "starting again" => crash(&pair.standby).await,
            other => unreachable!("{other}"),
        }
        let asked = Instant::now();
        assert_eq!(read(&acme).await.1, ACME, "{what}");
        assert!(asked.elapsed() < Duration::from_secs(5), "{what}: bounded");
        for _again in 0..3 {
            assert_eq!(read(&globex).await.1, GLOBEX, "{what}");
            assert_eq!(read(&acme).await.1, ACME, "{what}");
        }
        proxy.refuse(false);
        proxy.resume();
        while PgConnection::connect_with(&pair.standby.superuser_options()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    pair.served(&database).await;
}

/// A service starts while its standby is away, and reads there once it has come.
#[tokio::test]
async fn a_standby_that_is_away_keeps_nobody_from_starting() {
    let pair = Pair::new().await;
    let (proxy, standby) = pair.standby.behind_a_proxy().await;
    proxy.refuse(true);
    let database = pair.open_with(pair.world.options().replica(standby.app_options())).await.unwrap();
    served_by_the_primary(&database, &pair.world, "away").await;
    let connections = proxy.traffic().connections;
    proxy.refuse(false);
    pair.served(&database).await;
    assert!(proxy.traffic().connections > connections);
    assert!(database.reinspect().await.is_ok());
    proxy.refuse(true);
    proxy.close();
    assert!(database.reinspect().await.is_err(), "a look says so");
    served_by_the_primary(&database, &pair.world, "away again").await;
}

#[derive(Clone, Default)]
struct Counts(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Recorder for Counts {
    fn count(&self, metric: Metric) {
        if let Metric::Event { store: _, event } = metric {
            *self.0.lock().unwrap().entry(event).or_default() += 1;
        }
    }
}

impl Counts {
    fn of(&self, served: &str) -> u64 {
        self.0.lock().unwrap().get(served).copied().unwrap_or_default()
    }
}

/// Why the primary served a read is counted, and a replica that does not answer is not asked by each reader.
#[tokio::test]
async fn who_served_a_read_is_counted() {
    let counts = Counts::default();
    let primary = ThrowawayPostgres::start().await.unwrap();
    let tenants = TestTenants::builder().build_with(|ready| ready.metrics(counts.clone())).await;
    let world = World { tenants, ..World::on(&primary).await };
    let replica = primary.replica().await.unwrap();
    let (proxy, standby) = replica.database(&world.server).behind_a_proxy().await;
    let options = PgOptions::new(world.server.app_options()).replica(standby.app_options());
    let database = Database::open(world.tenants.realm(), options, &world.declaration).await.unwrap();
    let acme = world.scoped(&database, "acme").await;
    replica.catch_up().await;
    eventually(&acme, Server::Standby).await;
    assert!(counts.of("replica.served") > 0);

    replica.pause_replay().await;
    let own = world.life("acme").uuid();
    let insert = "insert into note (id, tenant_id, body) values (100, $1, 'new')";
    sqlx::query(insert).bind(own).execute(&acme).await.unwrap();
    read(&acme).await;
    assert_eq!(counts.of("replica.behind"), 1);
    let mut tx = acme.begin().await.unwrap();
    tenancy_pg::danger::connection(&mut tx, "a test of doubts").await.unwrap();
    drop(tx);
    read(&acme).await;
    assert_eq!(counts.of("replica.in_doubt"), 1);
    sqlx::query("update note set body = body").execute(&acme).await.unwrap();
    replica.resume_replay().await;
    replica.catch_up().await;
    eventually(&acme, Server::Standby).await;

    proxy.refuse(true);
    proxy.close();
    let before = proxy.traffic().connections;
    for _reader in 0..20 {
        assert_eq!(read(&acme).await.0, Server::Primary);
    }
    assert!(counts.of("replica.unreachable") > 0);
    assert!(counts.of("replica.resting") > counts.of("replica.unreachable"), "{counts:?}", counts = counts.0);
    assert_eq!(proxy.traffic().connections, before, "refused ones are not counted by the proxy");
    replica.promote().await;
    proxy.refuse(false);
    let deadline = Instant::now() + Duration::from_secs(20);
    while counts.of("replica.no_standby") == 0 {
        assert_eq!(read(&acme).await.0, Server::Primary);
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
