//! The cases in signed mode, where SQL can't change the tenant.

use secrecy::ExposeSecret;
use tenancy_pg::{
    Database, Declaration, InspectPolicy, Inspected, PgOptions, Severity, SigningKey, SigningKeys, signed_schema_sql,
    signing_key_sql,
};
use tenancy_testkit::{APP, OWNER, TestTenants};
use tenancy_vector::pgvector::PgVectorBackend;
use tenancy_vector::{Schema, VectorError, VectorStore};

use crate::world::{ERASER, World};
use crate::{cases, handle};

/// Signed tables, with a global one among the declared where it is named, and the key.
pub(crate) async fn world(tenants: &TestTenants, schema: Schema, global: Option<&str>) -> (World, SigningKey) {
    let mut world = World::bare(schema).await;
    let tables = world.tables.tenant_tables();
    let declared = tables.into_iter().fold(Declaration::builder(), |all, table| all.tenant_table(table)).signed();
    let declared = global.into_iter().fold(declared, |all, table| all.global_table("public", table));
    world.declaration = declared.build().unwrap();
    let key = SigningKey::generate();
    world.server.run(&signed_schema_sql(&world.declaration, OWNER, &[APP, ERASER])).await;
    world.server.run(signing_key_sql(&key).expose_secret()).await;
    for tenant in ["acme", "globex"] {
        let life = tenants.life(tenant).uuid();
        world.server.run(&format!("insert into tenancy.tenant values ('{life}', '{life}')")).await;
    }
    world.migrate().await;
    (world, key)
}

pub(crate) async fn database(tenants: &TestTenants, world: &World, key: SigningKey) -> Database<Inspected> {
    let options = PgOptions::new(world.server.app_options()).signed(SigningKeys::new(key));
    let database = Database::connect(tenants.realm(), options).await.unwrap();
    let policy = InspectPolicy::new().hardening(Severity::Warning);
    database.inspect_with(&world.declaration, policy).await.unwrap()
}

async fn store(tenants: &TestTenants) -> VectorStore {
    let (world, key) = world(tenants, handle::schema(), None).await;
    let database = database(tenants, &world, key).await;
    let backend = PgVectorBackend::new(database, world.tables.clone()).unwrap().erasing_as(world.eraser());
    let store = VectorStore::new(tenants.realm(), backend, handle::schema());
    store.prepare().await.unwrap();
    store
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_reach_ones_own_points() {
    let tenants = TestTenants::new().await;
    let store = store(&tenants).await;
    handle::changes_reach_ones_own(&tenants, &store).await;
    cases::filters_only_narrow(&tenants, &store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_query_finds_ones_own() {
    let tenants = TestTenants::new().await;
    let store = store(&tenants).await;
    handle::every_kind_of_query_finds_ones_own(&tenants, &store).await;
}

/// The policies call the verifier, and whoever may not call that can't even look.
#[tokio::test(flavor = "multi_thread")]
async fn an_eraser_that_was_forgotten_is_found_before_serving() {
    let tenants = TestTenants::new().await;
    let (world, key) = world(&tenants, handle::schema(), None).await;
    let database = database(&tenants, &world, key).await;
    let forgotten = format!("forgotten_of_{}", world.server.name());
    world.server.run(&format!("create role \"{forgotten}\" login")).await;
    world.server.run_as_owner(&world.tables.migration_sql(&world.declaration, APP, &forgotten).unwrap()).await;
    let backend = PgVectorBackend::new(database, world.tables.clone()).unwrap();
    let store =
        VectorStore::new(tenants.realm(), backend.erasing_as(world.server.options(&forgotten)), handle::schema());
    let refused = store.prepare().await;
    let Err(VectorError::Unfit(why)) = refused else { panic!("{refused:?}") };
    assert!(why.to_string().contains("signed_schema_sql"), "{why}");
    world.server.run(&signed_schema_sql(&world.declaration, OWNER, &[APP, ERASER, &forgotten])).await;
    store.prepare().await.unwrap();
}

/// The role that drops lives needs no seal.
#[tokio::test(flavor = "multi_thread")]
async fn a_life_is_dropped() {
    let tenants = TestTenants::new().await;
    let store = store(&tenants).await;
    crate::dropping::erase_and_look(&tenants, &store).await;
}
