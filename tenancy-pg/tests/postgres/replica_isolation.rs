//! On a standby a tenant sees its own rows and no others, in every mode.

use sqlx::AssertSqlSafe;
use tenancy_core::Denial;
use tenancy_pg::{Database, Inspected, Mode, PgOptions, Pooler, SigningKeys, TenantDb, hardening_sql};
use tenancy_testkit::{FaultProxy, PgBouncerOptions, PoolMode, ThrowawayPgBouncer, drop_at_every_poll};

use crate::common::{ACME, GLOBEX, World, smuggled};
use crate::replica::{Pair, Server, Servers, eventually, read};
use crate::sealed::{Sealed, begin, look, set};
use crate::wire::Wire;

/// What acme sees of globex on the standby, by statements that ask for it.
async fn foreign_rows(acme: &TenantDb, globex: uuid::Uuid) -> i64 {
    let mut tx = acme.read().await.unwrap();
    let standby: bool = sqlx::query_scalar("select pg_is_in_recovery()").fetch_one(&mut tx).await.unwrap();
    assert!(standby);
    let mut all = 0;
    for sql in [
        "select count(*) from note where tenant_id = $1",
        "select count(*) from note where $1::uuid is not null and body like 'globex%'",
        "select count(*) from (select * from note where tenant_id = $1 union all select * from note where id > 2) n",
        "with theirs as materialized (select * from note) select count(*) from theirs where tenant_id = $1",
        "select count(*) from note a join note b using (slug) where b.tenant_id = $1",
    ] {
        all += sqlx::query_scalar::<_, i64>(sql).bind(globex).fetch_one(&mut tx).await.unwrap();
    }
    tx.rollback().await.unwrap();
    all
}

#[tokio::test]
async fn each_tenant_sees_its_own_rows_on_a_standby() {
    let pair = Pair::new().await;
    pair.world.server.run(&hardening_sql()).await;
    let bouncer = PgBouncerOptions::new(PoolMode::Transaction).pool_size(2);
    let primary_bouncer = ThrowawayPgBouncer::start(&pair.world.server, &bouncer).await.unwrap();
    let standby_bouncer = ThrowawayPgBouncer::start(&pair.standby, &bouncer).await.unwrap();
    let session = PgBouncerOptions::new(PoolMode::Session).pool_size(12);
    let primary_sessions = ThrowawayPgBouncer::start(&pair.world.server, &session).await.unwrap();
    let standby_sessions = ThrowawayPgBouncer::start(&pair.standby, &session).await.unwrap();
    let through = |primary: &ThrowawayPgBouncer, standby: &ThrowawayPgBouncer, pooler| {
        let options = PgOptions::new(primary.database().app_options()).max_connections(1).pooler(pooler);
        options.replica(standby.database().app_options())
    };
    for (what, options) in [
        ("local", pair.options()),
        ("sticky", pair.options().mode(Mode::Sticky)),
        ("a session pooler", through(&primary_sessions, &standby_sessions, Pooler::Session)),
        ("a transaction pooler", through(&primary_bouncer, &standby_bouncer, Pooler::Transaction)),
    ] {
        let database = pair.open_with(options).await.unwrap();
        let (acme, globex) = pair.served(&database).await;
        for _again in 0..3 {
            assert_eq!(eventually(&acme, Server::Standby).await, ACME, "{what}");
            assert_eq!(eventually(&globex, Server::Standby).await, GLOBEX, "{what}: they are there");
        }
        eventually(&acme, Server::Standby).await;
        assert_eq!(foreign_rows(&acme, pair.world.life("globex").uuid()).await, 0, "{what}");

        pair.replica().pause_replay().await;
        let own = "update note set body = body where id = 1";
        sqlx::query(own).execute(&acme).await.unwrap();
        assert_eq!(read(&acme).await.0, Server::Primary, "{what}");
        assert_eq!(eventually(&globex, Server::Standby).await, GLOBEX, "{what}");
        pair.replica().resume_replay().await;
        pair.replica().catch_up().await;

        // A breach is found there as on the primary, and costs its connection.
        eventually(&acme, Server::Standby).await;
        let mut tx = acme.read().await.unwrap();
        let key = pair.world.life("globex").uuid();
        sqlx::query(AssertSqlSafe(smuggled(&format!("set local tenancy.row_key = '{key}'"))))
            .execute(&mut tx)
            .await
            .unwrap();
        assert_eq!(tx.rollback().await.unwrap_err().denial(), Some(Denial::StoreBreach), "{what}");
        assert_eq!(eventually(&globex, Server::Standby).await, GLOBEX, "{what}");
        let mut tx = acme.read().await.unwrap();
        let refused = sqlx::query("update note set body = 'x'").execute(&mut tx).await.unwrap_err();
        assert_eq!(refused.as_database_error().unwrap().code().unwrap(), "25006", "{what}");
        drop(tx);
        assert_eq!(eventually(&acme, Server::Standby).await, ACME, "{what}");
        database.close().await;
    }
}

/// Whoever comes next, there or here: another tenant.
async fn next_is_clean(world: &World, globex: &TenantDb, what: &str) {
    for server in [Server::Standby, Server::Primary] {
        let mut tx = match server {
            Server::Standby => {
                assert_eq!(eventually(globex, server).await, GLOBEX, "{what}");
                globex.read().await.unwrap()
            }
            Server::Primary => globex.begin().await.unwrap(),
        };
        let key: String =
            sqlx::query_scalar("select current_setting('tenancy.row_key')").fetch_one(&mut tx).await.unwrap();
        assert_eq!(key, world.life("globex").uuid().to_string(), "{what}");
        tx.rollback().await.unwrap();
    }
}

/// On pools of one: fit, behind, and waiting.
#[tokio::test]
async fn a_read_dropped_after_any_poll_leaves_both_servers_clean() {
    let pair = Pair::new().await;
    for (what, wait, behind) in [("fit", 0, false), ("behind", 0, true), ("waiting", 20, true)] {
        let options = pair.options().read_your_writes(std::time::Duration::from_millis(wait));
        let database = pair.open_with(options).await.unwrap();
        let (acme, globex) = pair.served(&database).await;
        if behind {
            pair.replica().pause_replay().await;
            sqlx::query("update note set body = body where id = 1").execute(&acme).await.unwrap();
        }
        let polls = drop_at_every_poll(
            || acme.read(),
            async |k, tx| {
                drop(tx);
                next_is_clean(&pair.world, &globex, &format!("{what}, a read dropped after poll {k}")).await;
            },
        )
        .await;
        assert!(polls > 1, "{what}");
        drop_at_every_poll(
            || async { read(&acme).await.1 },
            async |k, seen| {
                assert!(seen.is_none_or(|seen| seen == ACME), "{what}");
                next_is_clean(&pair.world, &globex, &format!("{what}, a query dropped after poll {k}")).await;
            },
        )
        .await;
        drop_at_every_poll(
            || async {
                let mut tx = acme.read().await.unwrap();
                let sql = "select body from note order by id";
                let seen: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut tx).await.unwrap();
                tx.commit().await.unwrap();
                seen
            },
            async |k, seen| {
                assert!(seen.is_none_or(|seen| seen == ACME), "{what}");
                next_is_clean(&pair.world, &globex, &format!("{what}, an end dropped after poll {k}")).await;
            },
        )
        .await;
        pair.replica().resume_replay().await;
        database.close().await;
    }
}

#[tokio::test]
async fn a_seal_is_good_on_a_standby_and_only_where_it_was_made() {
    let servers = Servers::shared().await;
    let sealed = Sealed::on(&servers.primary).await;
    sealed.server.run(&hardening_sql()).await;
    let replica = &servers.replica;
    replica.catch_up().await;
    let standby = replica.database(&sealed.server);
    let keys = SigningKeys::new(sealed.key.clone());
    let options = PgOptions::new(sealed.server.app_options()).max_connections(1).signed(keys);
    let options = options.replica(standby.app_options());
    let database: Database<Inspected> =
        Database::open(sealed.tenants.realm(), options, &sealed.declaration).await.unwrap();
    let (acme, globex) = (sealed.scoped(&database, "acme").await, sealed.scoped(&database, "globex").await);
    replica.catch_up().await;
    for _again in 0..3 {
        assert_eq!(eventually(&acme, Server::Standby).await, ACME);
        assert_eq!(eventually(&globex, Server::Standby).await, GLOBEX);
    }
    replica.pause_replay().await;
    sqlx::query("update note set body = body where id = 1").execute(&acme).await.unwrap();
    assert_eq!(read(&acme).await.0, Server::Primary);
    replica.resume_replay().await;
    replica.catch_up().await;

    // A seal that was made on the one is refused on the other.
    let (mut there, mut here) = (Wire::connect(&standby).await, Wire::connect(&sealed.server).await);
    let seal = sealed.begin(&mut here, "globex").await;
    assert_eq!(look(&mut here).await.column(), GLOBEX);
    begin(&mut there).await;
    there.run(&set(&seal)).await;
    assert_eq!(look(&mut there).await.error.as_deref(), Some("28000"));
    there.run("rollback").await;
    let seal = sealed.begin(&mut there, "globex").await;
    assert_eq!(look(&mut there).await.column(), GLOBEX, "one of its own is good");
    here.run("rollback").await;
    begin(&mut here).await;
    here.run(&set(&seal)).await;
    assert_eq!(look(&mut here).await.error.as_deref(), Some("28000"));

    // A fence reaches the standby with the log. Until then it is the context's own that holds.
    replica.pause_replay().await;
    let fence = format!("update tenancy.tenant set live = false where life = '{}'", sealed.life("acme").uuid());
    sealed.server.run(&fence).await;
    assert_eq!(eventually(&acme, Server::Standby).await, ACME, "the standby does not know yet");
    sealed.tenants.suspend("acme");
    assert_eq!(acme.read().await.unwrap_err().denial(), Some(Denial::TenantSuspended));
    replica.resume_replay().await;
    replica.catch_up().await;
    let mut wire = Wire::connect(&standby).await;
    sealed.begin(&mut wire, "acme").await;
    assert_eq!(look(&mut wire).await.error.as_deref(), Some("28000"), "now it does");
}

/// What `docs/postgres/modes.md` promises.
#[tokio::test]
async fn a_reader_waits_as_often_as_is_said() {
    let pair = Pair::new().await;
    let (to_primary, primary) = pair.world.server.behind_a_proxy().await;
    let (to_standby, standby) = pair.standby.behind_a_proxy().await;
    let options = PgOptions::new(primary.app_options()).replica(standby.app_options()).max_connections(1);
    let database = pair.open_with(options).await.unwrap();
    let (acme, _) = pair.served(&database).await;
    let waits = |proxy: &FaultProxy| proxy.traffic().round_trips;
    let counted = async |server: Server| {
        let mut least = (u64::MAX, u64::MAX);
        for _time in 0..8 {
            let before = (waits(&to_primary), waits(&to_standby));
            let mut tx = acme.read().await.unwrap();
            let here: bool = sqlx::query_scalar("select pg_is_in_recovery()").fetch_one(&mut tx).await.unwrap();
            let after = (waits(&to_primary) - before.0, waits(&to_standby) - before.1);
            if here == (server == Server::Standby) {
                least = least.min(after);
            }
            drop(tx);
            // The cleaning of either connection.
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        least
    };
    assert_eq!(counted(Server::Standby).await, (0, 2), "as on the primary");
    pair.replica().pause_replay().await;
    let mut least = u64::MAX;
    for _time in 0..6 {
        let mut tx = acme.begin().await.unwrap();
        sqlx::query("update note set body = body where id = 1").execute(&mut tx).await.unwrap();
        let before = waits(&to_primary);
        tx.commit().await.unwrap();
        least = least.min(waits(&to_primary) - before);
    }
    assert_eq!(least, 1, "where the log is, is said with the commit");
    let (on_primary, on_standby) = counted(Server::Primary).await;
    assert_eq!(on_primary, 2);
    assert!((1..=2).contains(&on_standby), "{on_standby}: asked first, and then cleaned, which nobody waits for");
}
