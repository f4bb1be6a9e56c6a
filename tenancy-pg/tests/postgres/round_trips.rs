//! How often a caller waits for the server: what `docs/postgres/modes.md` promises, counted on the wire.

use sqlx::postgres::PgConnectOptions;
use tenancy_pg::{Database, Inspected, Mode, PgOptions, Pooler, SigningKeys, TenantDb, hardening_sql};
use tenancy_testkit::FaultProxy;

use crate::common::{ACME, World, bodies};
use crate::sealed::Sealed;

/// Round-trips of a statement by itself that reads, of one that writes, of one in `read()`, and of a transaction with
/// one.
type Counts = [u64; 4];

async fn counts(proxy: &FaultProxy, db: &TenantDb) -> Counts {
    let reads = async || assert_eq!(bodies(db).await, ACME);
    let writes = async || {
        let changed = sqlx::query("update note set body = body").execute(db).await.unwrap();
        assert_eq!(changed.rows_affected(), 2);
    };
    let read = async || {
        let mut tx = db.read().await.unwrap();
        let seen: Vec<String> =
            sqlx::query_scalar("select body from note order by id").fetch_all(&mut tx).await.unwrap();
        assert_eq!(seen, ACME);
    };
    let transaction = async || {
        let mut tx = db.begin().await.unwrap();
        sqlx::query("update note set body = body").execute(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
    };
    [least(proxy, reads).await, least(proxy, writes).await, least(proxy, read).await, least(proxy, transaction).await]
}

/// The fewest of several times: the first one prepares, and on a slow machine a kept connection may have been idle for
/// too long. What goes on behind the scenes is over, or not yet begun, when the call returns.
async fn least(proxy: &FaultProxy, call: impl AsyncFn()) -> u64 {
    let mut least = u64::MAX;
    for _time in 0..6 {
        let before = proxy.traffic().round_trips;
        call().await;
        let waited = proxy.traffic().round_trips - before;
        least = least.min(waited);
        // The cleaning, except where it is a part of the last batch.
        let cleaned = tokio::time::timeout(
            std::time::Duration::from_millis(300),
            proxy.wait_until(|traffic| traffic.round_trips > before + waited),
        );
        let _no_cleaning = cleaned.await;
    }
    least
}

#[tokio::test]
async fn callers_wait_as_often_as_is_said() {
    let world = World::new().await;
    world.server.run(&hardening_sql()).await;
    let (proxy, server) = world.server.behind_a_proxy().await;
    let plain = |options: PgConnectOptions| PgOptions::new(options).max_connections(1);
    for (what, options, expected) in [
        ("local", plain(server.app_options()), [3, 3, 2, 3]),
        ("sticky", plain(server.app_options()).mode(Mode::Sticky), [1, 3, 2, 3]),
        ("a transaction pooler", plain(server.app_options()).pooler(Pooler::Transaction), [4, 4, 3, 4]),
    ] {
        let database: Database<Inspected> =
            Database::open(world.tenants.realm(), options, &world.declaration).await.unwrap();
        let acme = world.scoped(&database, "acme").await;
        assert_eq!(counts(&proxy, &acme).await, expected, "{what}");
        database.close().await;
    }
}

#[tokio::test]
async fn a_seal_costs_one_more() {
    let sealed = Sealed::new().await;
    sealed.server.run(&hardening_sql()).await;
    let (proxy, server) = sealed.server.behind_a_proxy().await;
    for mode in [Mode::Local, Mode::Sticky] {
        let keys = SigningKeys::new(sealed.key.clone());
        let options = PgOptions::new(server.app_options()).max_connections(1).mode(mode).signed(keys);
        let database = Database::open(sealed.tenants.realm(), options, &sealed.declaration).await.unwrap();
        let acme = sealed.scoped(&database, "acme").await;
        assert_eq!(counts(&proxy, &acme).await, [4, 4, 3, 4], "{mode:?}");
        database.close().await;
    }
}
