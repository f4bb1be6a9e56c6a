//! The end of a tenant in all its stores: vectors and rows of one database, and keys.

use std::time::Duration;

use tenancy_core::{Credential, CrossTenantGrant, Eraser, Life, Reach, StoreVerdict, TenantId};
use tenancy_pg::{Declaration, Migration, PgEraser, Roles, erasure_sql};
use tenancy_testkit::{APP, TestTenants};
use tenancy_vector::VectorStore;
use tenancy_vector::pgvector::PgVectorTables;

use crate::cases;
use crate::library::{code, run};
use crate::world::{ERASER, World};

/// A database whose tables refer to the registry of tenants, with a point each of acme's and globex's.
struct Stage {
    tenants: TestTenants,
    world: World,
    vectors: VectorStore,
    rows: PgEraser,
    grant: CrossTenantGrant,
    /// Acme's, which the directory no longer tells after its end.
    life: Life,
}

impl Stage {
    async fn new() -> Self {
        let tenants = TestTenants::builder().build_with(|ready| ready.fence_age(Duration::from_millis(300))).await;
        let mut world = World::bare(cases::schema()).await;
        let tables = world.tables.tenant_tables();
        let declared = tables.into_iter().fold(Declaration::builder(), |all, table| all.tenant_table(table));
        world.declaration = declared.registry().build().unwrap();
        world.migrate().await;
        let server = &world.server;
        server.run_as_owner(&Migration::of(&world.declaration, &Roles::new(APP)).unwrap().up()).await;
        let eraser = format!("rows_eraser_of_{}", server.name());
        server.run(&format!("create role {eraser} login; grant pg_read_all_stats to {eraser}")).await;
        server.run_as_owner(&erasure_sql(&world.declaration, &eraser)).await;
        for tenant in ["acme", "globex"] {
            let life = tenants.life(tenant).uuid();
            server.run(&format!("insert into tenancy.tenant (row_key, life) values ('{life}', '{life}')")).await;
        }
        let vectors = world.store(&tenants).await;
        for tenant in ["acme", "globex"] {
            let mine = cases::of(&tenants, &vectors, tenant).await;
            mine.upsert(vec![cases::point("A1", 0.5, tenant), cases::point("A2", 0.5, tenant)]).await.unwrap();
        }
        let rows = PgEraser::connect(tenants.realm(), server.options(&eraser), &world.declaration).await.unwrap();
        let credential = Credential::bearer(tenants.operator_token());
        let (acme, ttl) = (Reach::One(TenantId::parse("acme").unwrap()), Duration::from_secs(120));
        let grant = tenants.realm().operators().open(&credential, "offboarding", "CASE-1", acme, ttl).await.unwrap();
        let life = tenants.life("acme");
        Self { tenants, world, vectors, rows, grant, life }
    }

    async fn may_read_the_registry(&self) {
        self.world.server.run_as_owner(&PgVectorTables::registry_sql(ERASER)).await;
    }

    async fn erase(&self, eraser: &dyn Eraser) -> StoreVerdict {
        self.tenants.realm().erase_store(&self.grant, self.life, eraser).await.unwrap()
    }

    /// Nothing of acme's is left, whoever looks, and nothing of it is taken.
    async fn is_gone(&self) {
        let life = self.life.uuid();
        for table in ["chunk", "chunk_life"] {
            let left = format!("select count(*) from {table} where tenant_id = '{life}' or life = '{life}'");
            assert_eq!(self.world.number(&left).await, 0, "{table}");
        }
        assert_eq!(self.world.number("select count(*) from chunk").await, 2, "globex's");
        let mut late = self.world.app(life).await;
        let point = format!(
            "insert into chunk (tenant_id, life, id, digest, name, payload) values ('{life}', '{life}', gen_random_uuid(), '', '', '{{}}')"
        );
        let enter = format!("insert into chunk_life (tenant_id, life) values ('{life}', '{life}')");
        for sql in [point, enter] {
            assert_eq!(code(run(&mut late, &sql).await), "23503", "a late writer: {sql}");
        }
        let theirs = cases::of(&self.tenants, &self.vectors, "globex").await;
        assert_eq!(theirs.count(None).await.unwrap(), 2);
    }
}

/// Whichever of the two stores of one database is asked first, what can be said at the end is the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_is_gone_from_every_store_in_any_order() {
    for vectors_first in [true, false] {
        let stage = Stage::new().await;
        stage.may_read_the_registry().await;
        stage.tenants.erase("acme");
        let (vectors, rows): (&dyn Eraser, &dyn Eraser) = (&stage.vectors, &stage.rows);
        let order = if vectors_first { [vectors, rows] } else { [rows, vectors] };
        let mut all = StoreVerdict::Verified;
        for eraser in order {
            all = all.and(stage.erase(eraser).await);
        }
        let keys = stage.tenants.realm().destroy_keys(&stage.grant, stage.life).await.unwrap();
        assert!(matches!(keys, StoreVerdict::KeyDestroyed { .. }));
        assert_eq!(all.and(keys), StoreVerdict::LogicalOnly, "vectors first: {vectors_first}");
        stage.is_gone().await;
        for eraser in order {
            assert_eq!(stage.erase(eraser).await, StoreVerdict::LogicalOnly, "looked at again: {vectors_first}");
        }
        stage.is_gone().await;
    }
}

/// What the role that drops lives may not see it does not claim, and what it finds it says.
#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_after_the_rows_went_is_what_was_found() {
    let stage = Stage::new().await;
    stage.tenants.erase("acme");
    assert_eq!(stage.erase(&stage.rows).await, StoreVerdict::LogicalOnly);
    let unsure = stage.erase(&stage.vectors).await;
    assert!(matches!(unsure, StoreVerdict::Unverifiable { .. }), "without a right to look: {unsure:?}");
    stage.may_read_the_registry().await;
    assert_eq!(stage.erase(&stage.vectors).await, StoreVerdict::LogicalOnly);
    let (life, server) = (stage.life.uuid(), &stage.world.server);
    // Past every key, as only a superuser can.
    let left = format!(
        "set session_replication_role = replica;
         insert into chunk (tenant_id, life, id, digest, name, payload) values (gen_random_uuid(), '{life}', gen_random_uuid(), '', '', '{{}}')"
    );
    server.run(&left).await;
    assert_eq!(stage.erase(&stage.vectors).await, StoreVerdict::failed("points are left"), "under another row key");
    server.run(&format!("delete from chunk where life = '{life}'")).await;
    assert_eq!(stage.erase(&stage.vectors).await, StoreVerdict::LogicalOnly, "positive control");
    for (mechanism, breaks, mends) in [
        (
            "no key to lives",
            "alter table chunk drop constraint chunk_tenant_id_open_fkey",
            "alter table chunk add constraint chunk_tenant_id_open_fkey foreign key (tenant_id, open) references chunk_life (tenant_id, open)",
        ),
        (
            "a right that was taken back",
            "revoke select (life) on tenancy.tenant from vector_eraser",
            "grant select (life) on tenancy.tenant to vector_eraser",
        ),
        (
            "a registry that shows some",
            "alter table tenancy.tenant enable row level security",
            "alter table tenancy.tenant disable row level security",
        ),
    ] {
        server.run(breaks).await;
        let unsure = stage.erase(&stage.vectors).await;
        assert!(matches!(unsure, StoreVerdict::Unverifiable { .. }), "{mechanism}: {unsure:?}");
        server.run(mends).await;
        assert_eq!(stage.erase(&stage.vectors).await, StoreVerdict::LogicalOnly, "positive control: {mechanism}");
    }
}

/// A life with a row key of its own that never wrote: the registry has it still, so somebody else has to let it go.
#[tokio::test(flavor = "multi_thread")]
async fn a_life_that_the_registry_has_is_not_called_gone() {
    let stage = Stage::new().await;
    stage.may_read_the_registry().await;
    stage.tenants.erase("acme");
    let (life, server) = (stage.life.uuid(), &stage.world.server);
    server.run(&format!("delete from chunk where life = '{life}'; delete from chunk_life where life = '{life}'")).await;
    server.run(&format!("update tenancy.tenant set row_key = gen_random_uuid() where life = '{life}'")).await;
    let unsure = stage.erase(&stage.vectors).await;
    assert!(matches!(unsure, StoreVerdict::Unverifiable { .. }), "{unsure:?}");
    server.run(&format!("delete from tenancy.tenant where life = '{life}'")).await;
    assert_eq!(stage.erase(&stage.vectors).await, StoreVerdict::LogicalOnly);
}
