//! Futures dropped at any place, in every mode, while the server ends sessions: whoever comes next finds nothing.

use std::cell::Cell;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection, Executor};
use tenancy_core::Life;
use tenancy_pg::{Database, Inspected, Mode, PgOptions, SigningKeys, TenantDb, hardening_sql};
use tenancy_testkit::{FaultProxy, TestDatabase, drop_at_every_poll, poll_times};

use crate::common::{ACME, GLOBEX, World};
use crate::sealed::Sealed;

/// A database in one of the modes, and its two tenants.
pub(crate) struct Place {
    pub(crate) what: &'static str,
    server: TestDatabase,
    database: Database<Inspected>,
    acme: TenantDb,
    globex: TenantDb,
    own: Life,
    /// In front of the service, where that was asked for.
    proxy: Option<FaultProxy>,
    /// Keeps the realm.
    _world: Kept,
}

/// Whatever the place is made of.
#[expect(dead_code, reason = "kept for as long as the place is used")]
enum Kept {
    Plain(World),
    Sealed(Sealed),
}

impl Place {
    async fn all(most: u32) -> Vec<Self> {
        Self::all_by(most, false).await
    }

    /// Each with a proxy in front.
    pub(crate) async fn behind_proxies(most: u32) -> Vec<(FaultProxy, Self)> {
        let taken = |mut place: Self| place.proxy.take().map(|proxy| (proxy, place));
        Self::all_by(most, true).await.into_iter().filter_map(taken).collect()
    }

    async fn all_by(most: u32, proxied: bool) -> Vec<Self> {
        vec![
            Self::plain("local", Mode::Local, most, proxied).await,
            Self::plain("sticky", Mode::Sticky, most, proxied).await,
            Self::sealed("signed", Mode::Local, most, proxied).await,
            Self::sealed("signed and sticky", Mode::Sticky, most, proxied).await,
        ]
    }

    async fn plain(what: &'static str, mode: Mode, most: u32, proxied: bool) -> Self {
        let world = World::new().await;
        let (proxy, options) = way_to(&world.server, proxied).await;
        let options = PgOptions::new(options).max_connections(most).mode(mode);
        let database = Database::open(world.tenants.realm(), options, &world.declaration).await.unwrap();
        let (acme, globex) = (world.scoped(&database, "acme").await, world.scoped(&database, "globex").await);
        let (server, own) = (world.server.clone(), world.life("acme"));
        Self { what, server, database, acme, globex, own, proxy, _world: Kept::Plain(world) }
    }

    async fn sealed(what: &'static str, mode: Mode, most: u32, proxied: bool) -> Self {
        let sealed = Sealed::new().await;
        sealed.server.run(&hardening_sql()).await;
        let keys = SigningKeys::new(sealed.key.clone());
        let (proxy, options) = way_to(&sealed.server, proxied).await;
        let options = PgOptions::new(options).max_connections(most).mode(mode).signed(keys);
        let database = Database::open(sealed.tenants.realm(), options, &sealed.declaration).await.unwrap();
        let (acme, globex) = (sealed.scoped(&database, "acme").await, sealed.scoped(&database, "globex").await);
        let (server, own) = (sealed.server.clone(), sealed.life("acme"));
        Self { what, server, database, acme, globex, own, proxy, _world: Kept::Sealed(sealed) }
    }

    /// One of the things that acme's callers do. Whatever they see is acme's, and nothing of it is kept.
    pub(crate) async fn act(&self, which: usize) -> Result<(), Box<dyn std::error::Error>> {
        match which % ACTS {
            0 => assert_seen(&bodies(&self.acme).await?, &ACME, self.what),
            1 => {
                let mut tx = self.acme.begin().await?;
                self.insert(&mut tx).await?;
            }
            2 => {
                let mut tx = self.acme.begin().await?;
                self.insert(&mut tx).await?;
                tx.rollback().await?;
            }
            3 => {
                let mut tx = self.acme.begin().await?;
                self.insert(&mut tx).await?;
                sqlx::query("delete from note where id = 100").execute(&mut tx).await?;
                tx.commit().await?;
            }
            4 => {
                let mut tx = self.acme.read().await?;
                let seen =
                    sqlx::query_scalar::<_, String>("select body from note order by id").fetch_all(&mut tx).await?;
                assert_seen(&seen, &ACME, self.what);
            }
            5 => {
                let mut tx = self.acme.begin().await?;
                self.insert(&mut tx).await?;
                let _swallowed = sqlx::query("select 1/0").execute(&mut tx).await;
                let _refused = tx.commit().await;
            }
            6 => {
                let globals = self.database.untenanted();
                let seen: i64 = sqlx::query_scalar("select count(*) from note").fetch_one(&globals).await?;
                assert_eq!(seen, 0, "{}: nobody", self.what);
            }
            7 => drop((&self.acme).describe(sqlx::SqlStr::from_static("select body from note")).await?),
            8 => drop((&self.acme).prepare(sqlx::SqlStr::from_static("select id from note where id = $1")).await?),
            _one => {
                let one = sqlx::query("select body from note where id = $1").bind(1).fetch_optional(&self.acme).await?;
                assert!(one.is_some(), "{}", self.what);
            }
        }
        Ok(())
    }

    async fn insert(&self, tx: &mut tenancy_pg::TenantTx<'_>) -> Result<(), sqlx::Error> {
        let sql = "insert into note (id, tenant_id, body) values (100, $1, 'half') on conflict do nothing";
        sqlx::query(sql).bind(self.own.uuid()).execute(tx).await.map(drop)
    }

    /// Whoever comes next: another tenant, in both ways, and nobody; in a session with its own settings.
    pub(crate) async fn next_is_clean(&self, what: &str) -> Result<(), sqlx::Error> {
        let what = format!("{}, {what}", self.what);
        assert_seen(&bodies(&self.globex).await?, &GLOBEX, &what);
        let mut tx = self.globex.begin().await?;
        let session: String = sqlx::query_scalar(
            "select concat_ws(' ', current_user, replace(current_setting('search_path'), '\"', ''),
                     current_setting('transaction_read_only'), current_setting('statement_timeout'),
                     (select count(*) from pg_prepared_statements where from_sql), pg_my_temp_schema(),
                     (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
                     (select count(distinct tenant_id) from note))",
        )
        .fetch_one(&mut tx)
        .await?;
        assert_eq!(session, "app public, pg_temp off 30s 0 0 0 1", "{what}");
        tx.commit().await?;
        let seen: i64 = sqlx::query_scalar("select count(*) from note").fetch_one(&self.database.untenanted()).await?;
        assert_eq!(seen, 0, "{what}: nobody");
        Ok(())
    }

    /// What was left of transactions that were not to be kept.
    pub(crate) async fn halves(&self) -> i64 {
        crate::common::scalar(&self.server.superuser_options(), "select count(*) from note where id = 100").await
    }
}

async fn way_to(server: &TestDatabase, proxied: bool) -> (Option<FaultProxy>, PgConnectOptions) {
    if !proxied {
        return (None, server.app_options());
    }
    let (proxy, server) = server.behind_a_proxy().await;
    (Some(proxy), server.app_options())
}

async fn bodies(db: &TenantDb) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar("select body from note order by id").fetch_all(db).await
}

fn assert_seen(seen: &[String], expected: &[&str], what: &str) {
    assert_eq!(seen, expected, "{what}");
}

/// Every act, dropped after every number of polls, on a pool of one.
#[tokio::test]
async fn a_future_dropped_after_any_poll_leaves_the_next_borrower_clean_in_every_mode() {
    for place in Place::all(1).await {
        let mut polled = 0;
        for act in 0..ACTS {
            polled += drop_at_every_poll(
                || async { place.act(act).await.unwrap() },
                async |polls, _ended| {
                    place.next_is_clean(&format!("act {act}, dropped after poll {polls}")).await.unwrap();
                },
            )
            .await;
            assert_eq!(place.halves().await, 0, "{}: act {act}", place.what);
        }
        assert!(polled > ACTS, "{}: futures were dropped before their end", place.what);
    }
}

/// Many at a time, dropped anywhere, on a few connections that a superuser ends meanwhile. With `TENANCY_TEST_SCALE` at
/// 100 it is a hundred thousand futures.
#[tokio::test]
async fn dropped_futures_and_ended_sessions_show_nobody_anything() {
    let scale = scale();
    for place in Place::all(3).await {
        let (left, answered) = (Cell::new(DROPPED_PER_MODE * scale), Cell::new(0_u64));
        let callers = (1..=CALLERS).map(|caller| {
            let (place, left, answered) = (&place, &left, &answered);
            async move {
                let mut random = Random(caller);
                while left.get() > 0 {
                    left.set(left.get() - 1);
                    let act = random.below(ACTS as u64) as usize;
                    // What a killed session answers is an error; what it must not be is somebody else's row.
                    let _ended_or_dropped = poll_times(place.act(act), random.below(24) as usize + 1).await;
                    if random.below(6) == 0 && place.next_is_clean("between").await.is_ok() {
                        answered.set(answered.get() + 1);
                    }
                }
            }
        });
        let callers = futures_util::future::join_all(callers);
        let killer = async {
            let mut superuser = PgConnection::connect_with(&place.server.superuser_options()).await.unwrap();
            // The second half is served in peace.
            while left.get() > DROPPED_PER_MODE * scale / 2 {
                superuser.execute(KILL_ONE).await.unwrap();
            }
        };
        tokio::join!(callers, killer);
        assert!(answered.get() > 0, "{}: somebody was served", place.what);
        let mut settled = Err(sqlx::Error::PoolClosed);
        for _killed_before in 0..8 {
            settled = place.next_is_clean("at the end").await;
            if settled.is_ok() {
                break;
            }
        }
        settled.unwrap();
        assert_seen(&bodies(&place.acme).await.unwrap(), &ACME, place.what);
        assert_eq!(place.halves().await, 0, "{}: half a transaction was committed", place.what);
        tokio::time::timeout(Duration::from_secs(20), place.database.close()).await.expect("no permit is lost");
    }
}

/// How many times as much as usual.
pub(crate) fn scale() -> u64 {
    std::env::var("TENANCY_TEST_SCALE").ok().and_then(|s| s.parse().ok()).unwrap_or(1)
}

/// Reproducible: a failure comes again.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

pub(crate) const ACTS: usize = 10;
const CALLERS: u64 = 8;
const DROPPED_PER_MODE: u64 = 250;
const KILL_ONE: &str = "select pg_terminate_backend(pid), pg_sleep(0.01) from pg_stat_activity
                        where usename = 'app' and datname = current_database() order by random() limit 1";
