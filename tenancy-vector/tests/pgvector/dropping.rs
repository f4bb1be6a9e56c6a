//! The end of a life.

use std::sync::Arc;
use std::time::Duration;

use tenancy_core::{Credential, CrossTenantGrant, Life, Reach, StoreVerdict, TenantId};
use tenancy_pg::sqlx::postgres::PgConnection;
use tenancy_pg::sqlx::{self, AssertSqlSafe, Connection};
use tenancy_pg::{Declaration, Migration, Roles};
use tenancy_testkit::{APP, TestTenants};
use tenancy_vector::VectorStore;

use crate::cases;
use crate::world::{ERASER, World};

async fn grant(tenants: &TestTenants) -> CrossTenantGrant {
    let credential = Credential::bearer(tenants.operator_token());
    let acme = Reach::One(TenantId::parse("acme").unwrap());
    let operators = tenants.realm().operators();
    operators.open(&credential, "offboarding", "CASE-1", acme, Duration::from_secs(60)).await.unwrap()
}

/// Acme and globex have a point each.
async fn filled() -> (Arc<TestTenants>, World, VectorStore) {
    let (tenants, world) = (TestTenants::new().await, World::new(cases::schema()).await);
    let store = world.store(&tenants).await;
    for tenant in ["acme", "globex"] {
        let mine = cases::of(&tenants, &store, tenant).await;
        mine.upsert(vec![cases::point("A1", 0.5, tenant)]).await.unwrap();
    }
    (Arc::new(tenants), world, store)
}

/// A session of the service in the tenant's scope, by hand: what is past every fence.
async fn late_writer(world: &World, life: Life) -> PgConnection {
    let mut connection = PgConnection::connect_with(&world.server.app_options()).await.unwrap();
    let begin = format!("begin; set local tenancy.row_key = '{}'", life.uuid());
    sqlx::raw_sql(AssertSqlSafe(begin)).execute(&mut connection).await.unwrap();
    connection
}

async fn insert(connection: &mut PgConnection, life: Life) -> Result<(), sqlx::Error> {
    let sql = "insert into chunk (tenant_id, life, id, digest, name, payload) values ($1, $1, gen_random_uuid(), '', '', '{}')";
    sqlx::query(sql).bind(life.uuid()).execute(connection).await.map(drop)
}

/// V4 of a store's erasure: by life, counted, and nobody else's.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_takes_the_life_and_no_other() {
    let (tenants, world, store) = filled().await;
    let (life, grant) = (tenants.life("acme"), grant(&tenants).await);
    let refused = tenants.realm().erase_store(&grant, life, &store).await;
    assert!(refused.is_err(), "a living tenant is not erased");
    tenants.erase("acme");
    for _again in 0..2 {
        assert_eq!(tenants.realm().erase_store(&grant, life, &store).await, Ok(StoreVerdict::LogicalOnly));
    }
    let left = format!("select count(*) from chunk where tenant_id = '{0}' or life = '{0}'", life.uuid());
    assert_eq!(world.number(&left).await, 0);
    assert_eq!(world.number("select count(*) from chunk").await, 1, "globex's is there");
    assert_eq!(cases::of(&tenants, &store, "globex").await.count(None).await.unwrap(), 1);
}

/// Acme's life is dropped, and globex's is as it was.
pub(crate) async fn erase_and_look(tenants: &TestTenants, store: &VectorStore) {
    for tenant in ["acme", "globex"] {
        let mine = cases::of(tenants, store, tenant).await;
        mine.upsert(vec![cases::point("A1", 0.5, tenant)]).await.unwrap();
    }
    let (life, grant) = (tenants.life("acme"), grant(tenants).await);
    tenants.erase("acme");
    assert_eq!(tenants.realm().erase_store(&grant, life, store).await, Ok(StoreVerdict::LogicalOnly));
    assert_eq!(cases::of(tenants, store, "globex").await.count(None).await.unwrap(), 1);
}

/// More points than one statement deletes.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_life_goes_portion_by_portion() {
    let (tenants, world, store) = filled().await;
    let (life, grant) = (tenants.life("acme"), grant(&tenants).await);
    world
        .server
        .run(&format!(
            "insert into chunk (tenant_id, life, id, digest, name, payload)
             select '{0}', '{0}', gen_random_uuid(), '', '', '{{}}' from generate_series(1, 2500)",
            life.uuid()
        ))
        .await;
    tenants.erase("acme");
    assert_eq!(tenants.realm().erase_store(&grant, life, &store).await, Ok(StoreVerdict::LogicalOnly));
    assert_eq!(world.number("select count(*) from chunk").await, 1);
}

/// Whoever wrote before the drop is waited for and goes with it; whoever comes after is refused by the server, for good.
#[tokio::test(flavor = "multi_thread")]
async fn a_writer_past_every_fence_leaves_nothing_behind() {
    let (tenants, world, store) = filled().await;
    let (life, grant) = (tenants.life("acme"), grant(&tenants).await);
    let mut before = late_writer(&world, life).await;
    insert(&mut before, life).await.unwrap();
    let mut after = late_writer(&world, life).await;
    tenants.erase("acme");
    let erasing = tokio::spawn({
        let (tenants, store) = (Arc::clone(&tenants), store.clone());
        async move { tenants.realm().erase_store(&grant, life, &store).await }
    });
    let waits =
        format!("select count(*) from pg_stat_activity where usename = '{ERASER}' and wait_event_type = 'Lock'");
    while world.number(&waits).await == 0 {
        assert!(!erasing.is_finished(), "it does not go past an open write");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    sqlx::query("commit").execute(&mut before).await.unwrap();
    assert_eq!(erasing.await.unwrap(), Ok(StoreVerdict::LogicalOnly));
    assert_eq!(world.number("select count(*) from chunk").await, 1, "globex's alone");

    for _again in 0..2 {
        let refused = insert(&mut after, life).await.unwrap_err();
        let code = refused.as_database_error().and_then(|error| error.code().map(|code| code.into_owned()));
        assert_eq!(code.as_deref(), Some("23503"), "the life takes no point any more: {refused}");
        after = late_writer(&world, life).await;
    }
}

/// A life that never wrote can't begin to after it was dropped, whatever its row key.
#[tokio::test(flavor = "multi_thread")]
async fn a_life_that_never_wrote_is_not_entered_after_its_end() {
    let (tenants, world) = (TestTenants::new().await, World::new(cases::schema()).await);
    let store = world.store(&tenants).await;
    let (life, grant) = (tenants.life("acme"), grant(&tenants).await);
    tenants.erase("acme");
    assert_eq!(tenants.realm().erase_store(&grant, life, &store).await, Ok(StoreVerdict::LogicalOnly));
    let mut late = late_writer(&world, life).await;
    let enter = "insert into chunk_life (tenant_id, life) values ($1, $1) on conflict do nothing";
    let entered = sqlx::query(enter).bind(life.uuid()).execute(&mut late).await.unwrap();
    assert_eq!(entered.rows_affected(), 0);
    assert!(insert(&mut late, life).await.is_err());
}

/// Where every tenant table refers to the registry, a life that the registry has let go is refused by that.
#[tokio::test(flavor = "multi_thread")]
async fn a_life_that_the_registry_let_go_is_not_entered() {
    let tenants = TestTenants::new().await;
    let mut world = World::bare(cases::schema()).await;
    let tables = world.tables.tenant_tables();
    let declared = tables.into_iter().fold(Declaration::builder(), |all, table| all.tenant_table(table));
    world.declaration = declared.registry().build().unwrap();
    world.migrate().await;
    world.server.run_as_owner(&Migration::of(&world.declaration, &Roles::new(APP)).unwrap().up()).await;
    let life = tenants.life("acme");
    world.server.run(&format!("insert into tenancy.tenant (row_key, life) values ('{0}', '{0}')", life.uuid())).await;
    // The migration of all tables gives the service more rights than these need.
    world.migrate().await;
    let store = world.store(&tenants).await;
    let mine = cases::of(&tenants, &store, "acme").await;
    mine.upsert(vec![cases::point("A1", 0.5, "a")]).await.unwrap();
    let grant = grant(&tenants).await;
    tenants.erase("acme");
    assert_eq!(tenants.realm().erase_store(&grant, life, &store).await, Ok(StoreVerdict::LogicalOnly));
    world.server.run("delete from chunk_life; delete from tenancy.tenant").await;
    let verdict = tenants.realm().erase_store(&grant, life, &store).await;
    assert!(matches!(verdict, Ok(StoreVerdict::Unverifiable { .. })), "{verdict:?}");
    let mut late = late_writer(&world, life).await;
    let enter = "insert into chunk_life (tenant_id, life) values ($1, $1) on conflict do nothing";
    assert!(sqlx::query(enter).bind(life.uuid()).execute(&mut late).await.is_err());
}

/// A verdict is what was found, not what was asked for.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_is_seen() {
    let (tenants, world, store) = filled().await;
    let (life, grant) = (tenants.life("acme"), grant(&tenants).await);
    tenants.erase("acme");
    // A table whose key to lives is gone, so that a point can be left behind a closed life.
    world.server.run("alter table chunk drop constraint chunk_tenant_id_open_fkey").await;
    assert_eq!(tenants.realm().erase_store(&grant, life, &store).await, Ok(StoreVerdict::LogicalOnly));
    let mut late = late_writer(&world, life).await;
    insert(&mut late, life).await.unwrap();
    sqlx::query("commit").execute(&mut late).await.unwrap();
    let left = Ok(StoreVerdict::failed("points are left"));
    assert_eq!(tenants.realm().erase_store(&grant, life, &store).await, left);
}

/// The role that drops lives sees one at a time, and writes no point.
#[tokio::test(flavor = "multi_thread")]
async fn the_role_that_drops_lives_can_do_no_more() {
    let (tenants, world, _store) = filled().await;
    let (acme, globex) = (tenants.life("acme").uuid(), tenants.life("globex").uuid());
    let mut eraser = PgConnection::connect_with(&world.eraser()).await.unwrap();
    let count = async |eraser: &mut PgConnection, sql: &str| -> i64 {
        sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(eraser).await.unwrap()
    };
    assert_eq!(count(&mut eraser, "select count(*) from chunk").await, 0, "named nobody");
    let named = format!("set tenancy.erasing = '{acme}'; set tenancy.erasing_life = '{acme}'");
    sqlx::raw_sql(AssertSqlSafe(named)).execute(&mut eraser).await.unwrap();
    assert_eq!(count(&mut eraser, "select count(*) from chunk").await, 1);
    assert_eq!(count(&mut eraser, &format!("select count(*) from chunk where tenant_id = '{globex}'")).await, 0);
    for (mechanism, sql) in [
        (
            "a point written",
            format!(
                "insert into chunk (tenant_id, life, id, digest, name, payload) values ('{acme}', '{acme}', gen_random_uuid(), '', '', '{{}}')"
            ),
        ),
        ("a point changed", "update chunk set payload = '{}'".to_owned()),
        ("a life handed on", format!("update chunk_life set tenant_id = '{globex}'")),
        ("a life taken away", "delete from chunk_life".to_owned()),
        (
            "another's life closed",
            format!("insert into chunk_life (tenant_id, life, open) values (gen_random_uuid(), '{globex}', false)"),
        ),
        ("the table emptied", "truncate chunk".to_owned()),
    ] {
        assert!(sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut eraser).await.is_err(), "{mechanism}");
    }
}
