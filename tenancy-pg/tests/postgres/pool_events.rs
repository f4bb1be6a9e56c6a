//! What the pool counts, frees at once and waits for.

use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};
use tenancy_core::Denial;
use tenancy_pg::{Database, Inspected, Mode, OnFailure, PgError, PgOptions, danger};
use tenancy_testkit::proxy::Direction;
use tenancy_testkit::{TestTenants, ThrowawayPostgres};

use crate::common::{ACME, GLOBEX, World, bodies, scalar, smuggled};
use crate::tally::Tally;

async fn counted() -> (World, Tally) {
    let tally = Tally::default();
    let world = World::of(tally.tenants().await, ThrowawayPostgres::shared().await).await;
    (world, tally)
}

/// Ends behind the scenes take a moment.
async fn until(tally: &Tally, event: &str, wanted: u64) {
    for _wait in 0..200 {
        if tally.of(event) >= wanted {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    assert_eq!(tally.of(event), wanted, "{event}: {:?}", tally.all());
}

/// Each closes its connection for a cause of its own, and nothing of it names a tenant.
#[tokio::test]
async fn a_connection_that_is_closed_is_counted_by_its_cause() {
    let (world, tally) = counted().await;
    let database = world.open().await;
    let (acme, globex) = (world.scoped(&database, "acme").await, world.scoped(&database, "globex").await);
    let slow = || async { sqlx::query("select pg_sleep(5)").execute(&acme).await };
    for (nth, event) in [
        "pool.closed.dropped",
        "pool.closed.lost",
        "pool.closed.handed_out",
        "pool.closed.breach",
        "pool.closed.unclean",
        "pool.closed.refused",
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(bodies(&acme).await, ACME);
        assert_eq!(tally.of("pool.connected"), nth as u64 + 1, "{event}: {:?}", tally.all());
        match event {
            "pool.closed.dropped" => {
                assert!(tokio::time::timeout(Duration::from_millis(50), slow()).await.is_err());
            }
            "pool.closed.lost" => {
                let kill = "select pg_terminate_backend(pg_backend_pid())";
                sqlx::query(kill).execute(&acme).await.unwrap_err();
            }
            "pool.closed.handed_out" => {
                let mut tx = acme.begin().await.unwrap();
                danger::connection(&mut tx, "a function insists on it").await.unwrap();
                tx.commit().await.unwrap();
            }
            "pool.closed.breach" => {
                let sql = format!("select pretend('{}')", world.life("globex").uuid());
                let refused = sqlx::query(AssertSqlSafe(sql)).execute(&acme).await.unwrap_err();
                assert_eq!(Denial::of(&refused), Some(Denial::StoreBreach));
            }
            "pool.closed.unclean" => {
                let sql = smuggled("create temporary table left_behind (x int)");
                sqlx::query(AssertSqlSafe(sql)).execute(&acme).await.unwrap();
            }
            _refused => {
                // A copy that the server refuses loses sqlx its place in the protocol.
                let mut tx = acme.begin().await.unwrap();
                let copy = tenancy_pg::CopyOut::query("select 1/0");
                futures_util::TryStreamExt::try_collect::<Vec<_>>(tx.copy_out(copy)).await.unwrap_err();
            }
        }
        until(&tally, event, 1).await;
        assert_eq!(bodies(&globex).await, GLOBEX, "{event}");
    }
    for (word, _) in tally.all() {
        assert!(!word.contains("acme") && !word.contains("globex"), "{word}");
        assert!(!word.contains(&world.life("acme").uuid().to_string()), "{word}");
    }
}

#[tokio::test]
async fn waiting_and_kept_connections_are_counted() {
    let (world, tally) = counted().await;
    let options = PgOptions::new(world.server.app_options()).max_connections(1).mode(Mode::Sticky);
    let options = options.acquire_timeout(Duration::from_millis(300));
    let database: Database<Inspected> =
        Database::open(world.tenants.realm(), options, &world.declaration).await.unwrap();
    let (acme, globex) = (world.scoped(&database, "acme").await, world.scoped(&database, "globex").await);
    let seen = |event| tally.of(event);
    assert_eq!(bodies(&acme).await, ACME);
    assert_eq!((seen("pool.connected"), seen("pool.came_back"), seen("pool.moved_out")), (1, 0, 0));
    assert_eq!(bodies(&acme).await, ACME);
    assert_eq!((seen("pool.connected"), seen("pool.came_back"), seen("pool.moved_out")), (1, 1, 0));
    assert_eq!(bodies(&globex).await, GLOBEX);
    assert_eq!((seen("pool.connected"), seen("pool.came_back"), seen("pool.moved_out")), (1, 1, 1));
    // The pool of one is waited for while it is read back.
    let (waited, held) = (seen("pool.waited"), globex.begin().await.unwrap());
    let waited = waited.max(seen("pool.waited"));
    assert!(matches!(acme.begin().await, Err(PgError::Busy)));
    assert_eq!((seen("pool.waited"), seen("pool.timed_out")), (waited + 1, 1));
    held.rollback().await.unwrap();
    assert_eq!(seen("pool.closed.dropped"), 0, "{:?}", tally.all());
}

#[tokio::test]
async fn an_old_connection_and_a_failed_look_are_counted() {
    let (world, tally) = counted().await;
    let options = world.options().idle_timeout(Duration::from_millis(100));
    let database = Database::open(world.tenants.realm(), options, &world.declaration).await.unwrap();
    assert_eq!(bodies(&world.scoped(&database, "acme").await).await, ACME);
    until(&tally, "pool.expired", 1).await;
    let _watch = database.watch(Duration::from_millis(20), OnFailure::Alarm);
    world.server.run_as_owner("alter table note no force row level security").await;
    for _wait in 0..200 {
        if tally.of("pg.inspection") > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    assert!(tally.of("pg.inspection") > 0, "{:?}", tally.all());
}

/// The server is told, and need not find out by itself. It counts the sessions that ended without a word.
#[tokio::test]
async fn an_idle_connection_that_is_too_old_says_good_bye() {
    let (world, tally) = counted().await;
    let superuser = world.server.superuser_options();
    let abandoned = "select sessions_abandoned from pg_stat_database where datname = current_database()";
    let others = "select count(*) from pg_stat_activity where datname = current_database()
                  and backend_type = 'client backend' and pid <> pg_backend_pid()";
    let settled = async || {
        for _wait in 0..400 {
            if scalar(&superuser, others).await == 0 {
                return scalar(&superuser, abandoned).await;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("sessions are left");
    };
    let before = settled().await;
    let options = world.options().idle_timeout(Duration::from_millis(100));
    let database = Database::open(world.tenants.realm(), options, &world.declaration).await.unwrap();
    for expired in 1..=3 {
        assert_eq!(bodies(&world.scoped(&database, "acme").await).await, ACME);
        until(&tally, "pool.expired", expired).await;
    }
    assert_eq!(settled().await, before);
    // The positive control: the socket alone is closed.
    drop(PgConnection::connect_with(&world.server.app_options()).await.unwrap());
    for _wait in 0..400 {
        if settled().await > before {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    assert_eq!(settled().await, before + 1);
}

/// A network that takes nothing any more holds up the good-bye of a connection, not whoever wants another one.
#[tokio::test]
async fn a_good_bye_that_nobody_hears_holds_no_place() {
    let world = World::new().await;
    let (proxy, through) = world.server.behind_a_proxy().await;
    let options = PgOptions::new(through.app_options()).max_connections(1).acquire_timeout(Duration::from_secs(3));
    let database = Database::open(world.tenants.realm(), options, &world.declaration).await.unwrap();
    let (acme, globex) = (world.scoped(&database, "acme").await, world.scoped(&database, "globex").await);
    assert_eq!(bodies(&acme).await, ACME);
    let stuck = proxy.connections().pop().unwrap();
    let mut tx = acme.begin().await.unwrap();
    stuck.stall(Direction::ToServer);
    // More than what the socket's buffers hold, so that the good-bye has to wait behind it.
    let much = vec![0_u8; 64 << 20];
    let sent = sqlx::query("select octet_length($1)").bind(&much[..]).execute(&mut tx);
    assert!(tokio::time::timeout(Duration::from_millis(200), sent).await.is_err());
    drop(tx);
    assert_eq!(bodies(&globex).await, GLOBEX, "no place came free");
    stuck.resume();
}

/// Closing waits for what goes on behind the scenes, and for its record: the realm is closed right after it.
#[tokio::test]
async fn closing_waits_for_what_goes_on_behind_the_scenes() {
    for (what, mode) in [("rolled back", Mode::Local), ("read back", Mode::Sticky)] {
        let tenants = TestTenants::new().await;
        let world = World::of(tenants, ThrowawayPostgres::shared().await).await;
        let options = PgOptions::new(world.server.app_options()).max_connections(4).mode(mode);
        let database = Database::open(world.tenants.realm(), options, &world.declaration).await.unwrap();
        let acme = world.scoped(&database, "acme").await;
        let other = world.life("globex").uuid();
        for _time in 0..3 {
            match mode {
                Mode::Local => {
                    let mut tx = acme.read().await.unwrap();
                    let sql = format!("select pretend('{other}')");
                    sqlx::query(AssertSqlSafe(sql)).execute(&mut tx).await.unwrap();
                    drop(tx);
                }
                _sticky => {
                    // For the session, since a statement by itself has no transaction.
                    let sql = smuggled(&format!("select set_config('tenancy.row_key', '{other}', false)"));
                    sqlx::query(AssertSqlSafe(sql)).execute(&acme).await.unwrap();
                }
            }
        }
        database.close().await;
        let records = world.tenants.audit().await;
        let breaches: u64 = records.iter().filter(|r| r.rule() == Some("store.breach")).map(|r| r.count()).sum();
        assert_eq!(breaches, 3, "{what}");
        let left = "select count(*) from pg_stat_activity where usename = 'app' and datname = current_database()
                    and xact_start is not null";
        assert_eq!(scalar(&world.server.superuser_options(), left).await, 0, "{what}");
        assert!(matches!(acme.begin().await, Err(PgError::Driver(_) | PgError::Busy)), "{what}: closed");
    }
}
