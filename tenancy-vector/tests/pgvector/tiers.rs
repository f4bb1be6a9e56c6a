//! Placements that several processes share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tenancy_core::{CellName, Credential, Reach, StoreVerdict, TenantId};
use tenancy_pg::PgError;
use tenancy_pg::sqlx::postgres::PgConnection;
use tenancy_pg::sqlx::{self, Connection};
use tenancy_testkit::TestTenants;
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::pgvector::{PgTiers, PgVectorError};
use tenancy_vector::tiers::{Mover, Tier, TieredBackend};
use tenancy_vector::{Point, TenantVectors, VectorError, VectorStore};

use crate::cases;
use crate::world::{ERASER, World};

const MOVER: &str = "vector_tiers";

fn store(name: &str) -> CellName {
    CellName::parse(name).unwrap()
}

/// A database with the tables of vectors and those of placements.
struct House {
    tenants: TestTenants,
    world: World,
    dedicated: ReferenceBackend,
}

/// What one process has: connections of its own.
struct Process {
    store: VectorStore,
    mover: Mover,
    of_dedicated: VectorStore,
}

impl House {
    async fn new() -> Self {
        let (tenants, world) = (TestTenants::new().await, World::new(cases::schema()).await);
        let role = format!(
            "do $$ begin create role {MOVER} login; exception when duplicate_object or unique_violation then null; end $$"
        );
        world.server.run(&role).await;
        for _again in 0..2 {
            world.server.run(&PgTiers::migration_sql(MOVER)).await;
        }
        Self { tenants, world, dedicated: ReferenceBackend::new() }
    }

    async fn process(&self) -> Process {
        self.process_of("documents").await
    }

    async fn process_of(&self, name: &str) -> Process {
        let (realm, schema) = (self.tenants.realm(), cases::schema());
        let tiers = PgTiers::connect(self.world.server.options(MOVER), &store(name)).await.unwrap();
        let shared = self.world.backend(realm).await;
        let tiered = TieredBackend::new(shared, self.dedicated.clone(), tiers).patience(Duration::from_secs(1));
        Process {
            mover: Mover::new(realm, tiered.clone(), schema.clone()),
            store: VectorStore::new(realm, tiered, schema.clone()),
            of_dedicated: VectorStore::new(realm, self.dedicated.clone(), schema),
        }
    }

    /// How many points of acme's are in each back end, in truth.
    async fn counts(&self, process: &Process) -> (i64, u64) {
        let sql = format!("select count(*) from chunk where life = '{}'", self.tenants.life("acme").uuid());
        let dedicated = cases::of(&self.tenants, &process.of_dedicated, "acme").await.count(None).await.unwrap();
        (self.world.number(&sql).await, dedicated)
    }

    async fn notes(&self) -> i64 {
        self.world.number("select count(*) from tenancy_tiers.note").await
    }
}

async fn in_time<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), test).await.unwrap()
}

fn numbered(name: &str, n: u64) -> Point {
    let dense = vec![1.0, 0.5, 0.0, 0.0];
    Point::hybrid(cases::id(name), dense, cases::terms(&[7]), cases::object(json!({ "n": n }))).unwrap()
}

async fn number_of(mine: &TenantVectors, name: &str) -> Option<u64> {
    let found = mine.get(&[cases::id(name)]).await.unwrap();
    found[0].point().and_then(|point| point.payload().get("n")).and_then(serde_json::Value::as_u64)
}

/// Two processes write, a third moves the life there and back: each reads what it wrote, and at the end all is there once.
#[tokio::test(flavor = "multi_thread")]
async fn processes_see_one_placement() {
    in_time(async {
        let house = House::new().await;
        let stop = Arc::new(AtomicBool::new(false));
        let mut writers = Vec::new();
        for process in 0..2 {
            let mine = cases::of(&house.tenants, &house.process().await.store, "acme").await;
            let stop = Arc::clone(&stop);
            writers.push(tokio::spawn(async move {
                let mut n = 0;
                while !stop.load(Ordering::Relaxed) {
                    n += 1;
                    let name = format!("{process}:{}", n % 40);
                    mine.upsert(vec![numbered(&name, n)]).await.unwrap();
                    assert_eq!(number_of(&mine, &name).await, Some(n), "one reads what one wrote");
                    if n % 5 == 0 {
                        assert_eq!(mine.delete(&[cases::id(&name)]).await.unwrap().removed(), 1);
                        assert_eq!(number_of(&mine, &name).await, None);
                    }
                }
                (process, n)
            }));
        }
        let third = house.process().await;
        let mover = third.mover.scoped(&house.tenants.context("acme").await).unwrap();
        let (mut copied, mut noted) = (0, 0);
        for tier in [Tier::Dedicated, Tier::Shared, Tier::Dedicated] {
            let moving = mover.move_to(tier, |points| copied = points);
            let look = async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                house.notes().await
            };
            let (moved, notes) = tokio::join!(moving, look);
            moved.unwrap();
            noted += notes;
        }
        stop.store(true, Ordering::Relaxed);
        assert!(copied > 0 && noted > 0, "{copied} copied, {noted} noted");
        let mine = cases::of(&house.tenants, &third.store, "acme").await;
        let mut points = 0;
        for writer in writers {
            let (process, last) = writer.await.unwrap();
            assert!(last > 60, "{last}");
            for n in last - 39..=last {
                let wanted = (n % 5 != 0).then_some(n);
                assert_eq!(number_of(&mine, &format!("{process}:{}", n % 40)).await, wanted);
                points += u64::from(wanted.is_some());
            }
        }
        assert_eq!((house.counts(&third).await, mine.count(None).await.unwrap()), ((0, points), points));
        assert_eq!(house.notes().await, 0, "nothing is left of a move");
    })
    .await;
}

/// A process that went away in the middle of a move: another goes on, and what was noted meanwhile is not lost.
#[tokio::test(flavor = "multi_thread")]
async fn another_process_goes_on_with_a_move() {
    in_time(async {
        let house = House::new().await;
        let first = house.process().await;
        let mine = cases::of(&house.tenants, &first.store, "acme").await;
        mine.upsert((0..600).map(|n| numbered(&format!("doc:{n}"), 1)).collect()).await.unwrap();
        let context = house.tenants.context("acme").await;
        let mover = first.mover.scoped(&context).unwrap();
        let (page, copied) = tokio::sync::oneshot::channel();
        let mut page = Some(page);
        let moving = tokio::spawn(async move {
            mover
                .move_to(Tier::Dedicated, |_| {
                    let _first_page = page.take().map(|page| page.send(()));
                    // The process stands still here, and never goes on.
                    std::thread::park_timeout(Duration::from_millis(200));
                })
                .await
        });
        copied.await.unwrap();
        moving.abort();
        let _gone = moving.await;
        mine.upsert(vec![numbered("doc:1", 2), numbered("new", 2)]).await.unwrap();
        assert_eq!(mine.delete(&[cases::id("doc:2")]).await.unwrap().removed(), 1);
        assert!(house.notes().await > 0, "positive control");

        let second = house.process().await;
        let mover = second.mover.scoped(&context).unwrap();
        assert!(mover.placement().await.unwrap().is_moving());
        mover.move_to(Tier::Dedicated, |_| {}).await.unwrap();
        let theirs = cases::of(&house.tenants, &second.store, "acme").await;
        assert_eq!((number_of(&theirs, "doc:1").await, number_of(&theirs, "new").await), (Some(2), Some(2)));
        assert_eq!((number_of(&mine, "doc:2").await, house.counts(&second).await), (None, (0, 600)));
    })
    .await;
}

/// The service, and whoever drops lives, can't say where a life is; the role that can is no superuser.
#[tokio::test(flavor = "multi_thread")]
async fn only_its_own_role_says_where_a_life_is() {
    in_time(async {
        let house = House::new().await;
        let process = house.process().await;
        process.mover.scoped(&house.tenants.context("acme").await).unwrap().placement().await.unwrap();
        for login in [house.world.server.app_options(), house.world.server.options(ERASER)] {
            let mut connection = PgConnection::connect_with(&login).await.unwrap();
            for sql in [
                "select * from tenancy_tiers.placement",
                "select * from tenancy_tiers.note",
                "insert into tenancy_tiers.placement (life) values ('x')",
                "update tenancy_tiers.placement set placement = null",
                "delete from tenancy_tiers.note",
                "delete from tenancy_tiers.placement",
            ] {
                let refused = sqlx::query(sql).execute(&mut connection).await.unwrap_err();
                let code = refused.as_database_error().and_then(|error| error.code().map(|code| code.into_owned()));
                assert_eq!(code.as_deref(), Some("42501"), "{sql}");
            }
            connection.close().await.unwrap();
        }
        let mut connection = PgConnection::connect_with(&house.world.server.options(MOVER)).await.unwrap();
        for (sql, refused) in [
            ("select * from tenancy_tiers.placement", false),
            ("delete from tenancy_tiers.placement", true),
            ("update tenancy_tiers.note set keys = ''", true),
            ("select * from chunk", true),
        ] {
            assert_eq!(sqlx::query(sql).execute(&mut connection).await.is_err(), refused, "{sql}");
        }
        connection.close().await.unwrap();
        let refused = PgTiers::connect(house.world.server.superuser_options(), &store("documents")).await;
        assert!(matches!(refused, Err(PgVectorError::Database(PgError::ControlRole))), "{refused:?}");
        let refused = PgTiers::connect(house.world.server.options(ERASER), &store("documents")).await;
        assert!(matches!(refused, Err(PgVectorError::Database(PgError::ControlRole))), "{refused:?}");
    })
    .await;
}

/// Two stores with their placements in one database: what is moved in the one stays where it is in the other.
#[tokio::test(flavor = "multi_thread")]
async fn two_stores_have_placements_of_their_own() {
    in_time(async {
        let house = House::new().await;
        let (documents, images) = (house.process().await, house.process_of("images").await);
        let context = house.tenants.context("acme").await;
        cases::of(&house.tenants, &documents.store, "acme").await.upsert(vec![numbered("doc:1", 1)]).await.unwrap();
        let there = async |process: &Process| process.mover.scoped(&context).unwrap().placement().await.unwrap().tier();
        documents.mover.scoped(&context).unwrap().move_to(Tier::Dedicated, |_| {}).await.unwrap();
        assert_eq!((there(&documents).await, there(&images).await), (Tier::Dedicated, Tier::Shared));
        let again = house.process().await;
        assert_eq!(there(&again).await, Tier::Dedicated, "another process of the same store knows");
    })
    .await;
}

/// A life that is erased in the middle of a move: neither its points nor its notes are left, and it is placed no more.
#[tokio::test(flavor = "multi_thread")]
async fn an_erased_life_leaves_no_note() {
    in_time(async {
        let house = House::new().await;
        let process = house.process().await;
        let (mine, theirs) = (
            cases::of(&house.tenants, &process.store, "acme").await,
            cases::of(&house.tenants, &process.store, "globex").await,
        );
        mine.upsert((0..10).map(|n| numbered(&format!("doc:{n}"), 1)).collect()).await.unwrap();
        theirs.upsert(vec![numbered("doc:1", 1)]).await.unwrap();
        let mover = process.mover.scoped(&house.tenants.context("acme").await).unwrap();
        // It has begun, and waits.
        let begun = tokio::time::timeout(Duration::from_millis(700), mover.move_to(Tier::Dedicated, |_| {})).await;
        assert!(begun.is_err());
        mine.upsert(vec![numbered("doc:1", 2)]).await.unwrap();
        assert!(house.notes().await > 0, "positive control");

        let life = house.tenants.life("acme");
        house.tenants.erase("acme");
        let credential = Credential::bearer(house.tenants.operator_token());
        let reach = Reach::One(TenantId::parse("acme").unwrap());
        let operators = house.tenants.realm().operators();
        let grant = operators.open(&credential, "offboarding", "CASE-1", reach, Duration::from_secs(60)).await.unwrap();
        for _again in 0..2 {
            let verdict = house.tenants.realm().erase_store(&grant, life, &process.store).await;
            assert_eq!(verdict, Ok(StoreVerdict::LogicalOnly), "what Postgres says is the worse");
        }
        assert_eq!(house.notes().await, 0);
        let placed = "select count(*) from tenancy_tiers.placement where placement is not null";
        assert_eq!(house.world.number(placed).await, 0);
        let left = format!("select count(*) from chunk where life = '{}'", life.uuid());
        assert_eq!(house.world.number(&left).await, 0);
        assert!(matches!(mover.move_to(Tier::Dedicated, |_| {}).await, Err(VectorError::Denied(_))));
        assert_eq!(theirs.count(None).await.unwrap(), 1);
    })
    .await;
}
