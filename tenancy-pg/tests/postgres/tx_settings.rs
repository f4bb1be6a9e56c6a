//! Settings of one transaction.

use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor};
use tenancy_pg::{
    Database, Inspected, IterativeScan, Mode, SynchronousCommit, TenantTx, TxOptions, TxSettings, danger,
};

use crate::common::{ACME, GLOBEX, World, bodies};

/// Every setting there is, as the server shows them.
async fn shown(tx: &mut TenantTx<'_>) -> String {
    let sql = "select concat_ws(' ', current_setting('work_mem'), current_setting('synchronous_commit'),
                nullif(current_setting('hnsw.ef_search', true), ''), nullif(current_setting('hnsw.iterative_scan', true), ''),
                nullif(current_setting('hnsw.max_scan_tuples', true), ''), nullif(current_setting('ivfflat.probes', true), ''),
                nullif(current_setting('ivfflat.iterative_scan', true), ''), nullif(current_setting('ivfflat.max_probes', true), ''))";
    sqlx::query_scalar(sql).fetch_one(tx).await.unwrap()
}

const AS_EVER: &str = "4MB on";

fn all() -> TxSettings {
    TxSettings::new()
        .work_mem(64 << 20)
        .synchronous_commit(SynchronousCommit::Off)
        .hnsw_ef_search(200)
        .hnsw_iterative_scan(IterativeScan::Strict)
        .hnsw_max_scan_tuples(5_000)
        .ivfflat_probes(10)
        .ivfflat_max_probes(100)
}

async fn open(world: &World, mode: Mode) -> Database<Inspected> {
    Database::open(world.tenants.realm(), world.options().mode(mode), &world.declaration).await.unwrap()
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Commit,
    Rollback,
    Drop,
    Fails,
}

#[tokio::test]
async fn a_transaction_has_its_settings_and_the_next_one_none_of_them() {
    let world = World::new().await;
    for mode in [Mode::Local, Mode::Sticky] {
        let database = open(&world, mode).await;
        let (acme, globex) = (world.scoped(&database, "acme").await, world.scoped(&database, "globex").await);
        for end in [End::Commit, End::Rollback, End::Drop, End::Fails] {
            let what = format!("{mode:?}, {end:?}");
            let mut tx = acme.begin_with(TxOptions::new().settings(all())).await.unwrap();
            assert_eq!(shown(&mut tx).await, "64MB off 200 strict_order 5000 10 relaxed_order 100", "{what}");
            let seen: Vec<String> =
                sqlx::query_scalar("select body from note order by id").fetch_all(&mut tx).await.unwrap();
            assert_eq!(seen, ACME, "{what}");
            match end {
                End::Commit => tx.commit().await.unwrap(),
                End::Rollback => tx.rollback().await.unwrap(),
                End::Drop => drop(tx),
                End::Fails => {
                    sqlx::query("select 1/0").execute(&mut tx).await.unwrap_err();
                    tx.rollback().await.unwrap();
                }
            }
            for db in [&acme, &globex] {
                let mut next = db.begin().await.unwrap();
                assert_eq!(shown(&mut next).await, AS_EVER, "{what}");
                next.rollback().await.unwrap();
            }
            assert_eq!(bodies(&globex).await, GLOBEX, "{what}");
        }
        database.close().await;
    }
    let outcomes: Vec<_> = world.tenants.audit().await.iter().map(|r| r.outcome().as_str()).collect();
    assert!(!outcomes.contains(&"denied"), "{outcomes:?}");
}

/// Numbers at either end are the nearest that the server, and pgvector where it is installed, takes.
#[tokio::test]
async fn what_is_out_of_bounds_is_the_nearest_bound() {
    let world = World::new().await;
    let mut superuser = PgConnection::connect_with(&world.server.superuser_options()).await.unwrap();
    let vector = superuser.execute("create extension vector").await.is_ok();
    superuser.close().await.unwrap();
    let database = open(&world, Mode::Local).await;
    let acme = world.scoped(&database, "acme").await;
    for (number, expected) in [
        (0, "64kB on 1 off 1 1 relaxed_order 1"),
        (u32::MAX, "4194303kB on 1000 relaxed_order 2147483647 32768 relaxed_order 32768"),
    ] {
        let scan = if number == 0 { IterativeScan::Off } else { IterativeScan::Relaxed };
        let settings = TxSettings::new()
            .work_mem(u64::from(number) * 1024)
            .work_mem(if number == 0 { 1 } else { u64::from(number) })
            .hnsw_ef_search(number)
            .hnsw_iterative_scan(scan)
            .hnsw_max_scan_tuples(number)
            .ivfflat_probes(number)
            .ivfflat_max_probes(number);
        // The second time pgvector is loaded when the settings come, and would refuse what it does not take.
        for loaded in [false, true] {
            let mut tx = acme.begin_with(TxOptions::new().settings(settings)).await.unwrap();
            if vector {
                let _loads: String = sqlx::query_scalar("select '[1]'::vector::text").fetch_one(&mut tx).await.unwrap();
                let typed: i64 = sqlx::query_scalar(
                    "select count(*) from pg_settings where name = 'hnsw.ef_search' and max_val = '1000'",
                )
                .fetch_one(&mut tx)
                .await
                .unwrap();
                assert_eq!(typed, 1);
            }
            assert_eq!(shown(&mut tx).await, expected, "{number}, loaded before: {loaded}");
            tx.commit().await.unwrap();
        }
    }
    let most = TxSettings::new().work_mem(u64::MAX);
    let mut tx = acme.begin_with(TxOptions::new().settings(most)).await.unwrap();
    assert!(shown(&mut tx).await.starts_with("2147483647kB on"));
    tx.commit().await.unwrap();
}

/// An index over all tenants' vectors, in which the nearest are another tenant's: a scan that goes on finds the own ones.
#[tokio::test]
async fn a_scan_that_goes_on_finds_what_a_policy_would_have_left_out() {
    let world = World::new().await;
    let mut superuser = PgConnection::connect_with(&world.server.superuser_options()).await.unwrap();
    if superuser.execute("create extension vector").await.is_err() {
        return;
    }
    superuser.close().await.unwrap();
    let own = world.life("acme").uuid();
    let foreign = world.life("globex").uuid();
    world
        .server
        .run(&format!(
            "drop index note_tenant_id_idx; alter table note drop constraint note_tenant_id_slug_key;
             alter table note add v vector(2);
             insert into note (id, tenant_id, body, v) select 100 + n, '{foreign}', 'near', array[1, n / 1000.0]::vector
                 from generate_series(1, 500) n;
             update note set v = '[0, 1]' where tenant_id = '{own}';
             create index on note using hnsw (v vector_l2_ops); analyze note;
             alter database {name} set enable_seqscan = off; alter database {name} set enable_sort = off",
            name = world.server.name()
        ))
        .await;
    let database = open(&world, Mode::Local).await;
    let acme = world.scoped(&database, "acme").await;
    let once = TxSettings::new().hnsw_ef_search(40);
    for (settings, found) in [
        (once, 0),
        (once.hnsw_iterative_scan(IterativeScan::Strict), 2),
        (once.hnsw_iterative_scan(IterativeScan::Relaxed), 2),
    ] {
        let mut tx = acme.begin_with(TxOptions::new().read_only().settings(settings)).await.unwrap();
        let nearest = "select id from (select id, body from note order by v <-> '[1, 0]' limit 2) nearest";
        let near: Vec<i32> = sqlx::query_scalar(nearest).fetch_all(&mut tx).await.unwrap();
        let connection = danger::connection(&mut tx, "to see the plan").await.unwrap();
        let plan: Vec<String> =
            sqlx::query_scalar(sqlx::AssertSqlSafe(format!("explain {nearest}"))).fetch_all(connection).await.unwrap();
        if plan.iter().any(|line| line.contains("_v_idx")) {
            assert_eq!(near.len(), found, "{settings:?}");
        } else {
            panic!("another plan: {plan:#?}");
        }
        tx.commit().await.unwrap();
    }
}
