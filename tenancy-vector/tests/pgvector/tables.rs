//! What `prepare` says of tables that are not as they should be.

use tenancy_core::RowKey;
use tenancy_testkit::TestTenants;
use tenancy_vector::{Schema, VectorError, VectorStore};

use crate::cases;
use crate::world::World;

/// Each with what takes it back, after which the tables are good again.
const DRIFTS: &[(&str, &str, &str)] = &[
    (
        "no row level security",
        "alter table chunk disable row level security",
        "alter table chunk enable row level security",
    ),
    ("not forced", "alter table chunk no force row level security", "alter table chunk force row level security"),
    (
        "lives not forced",
        "alter table chunk_life no force row level security",
        "alter table chunk_life force row level security",
    ),
    ("no policy", "drop policy tenancy_row_key on chunk", ""),
    ("a policy for everybody", "create policy wide on chunk using (true)", "drop policy wide on chunk"),
    (
        "a tenant column that may be empty",
        "alter table chunk_life drop constraint chunk_life_pkey; alter table chunk_life alter tenant_id drop not null",
        "alter table chunk_life add primary key (tenant_id)",
    ),
    (
        "a vector index across tenants",
        "create index wide on chunk using hnsw (v_dense vector_ip_ops)",
        "drop index wide",
    ),
    (
        "a vector index of several tenants",
        "create index wide on chunk using hnsw (v_dense vector_ip_ops) where open",
        "drop index wide",
    ),
    (
        "another dimension",
        "alter table chunk alter v_dense type vector(5)",
        "alter table chunk alter v_dense type vector(4)",
    ),
    ("no dimension", "alter table chunk alter v_dense type vector", "alter table chunk alter v_dense type vector(4)"),
    ("a vector less", "alter table chunk rename v_dense to v_other", "alter table chunk rename v_other to v_dense"),
    ("a comment that says another schema", "comment on table chunk is '{}'", ""),
];

#[tokio::test(flavor = "multi_thread")]
async fn drift_is_found_before_serving() {
    let (tenants, world) = (TestTenants::new().await, World::new(cases::schema()).await);
    let store = world.store(&tenants).await;
    store.prepare().await.unwrap();
    for (mechanism, breaks, mends) in DRIFTS {
        world.server.run(breaks).await;
        let refused = store.prepare().await;
        assert!(matches!(refused, Err(VectorError::SchemaMismatch)), "{mechanism}: {refused:?}");
        world.server.run(mends).await;
        world.migrate().await;
        store.prepare().await.unwrap_or_else(|error| panic!("positive control: {mechanism}: {error}"));
    }
}

/// The index of one tenant is no drift.
#[tokio::test(flavor = "multi_thread")]
async fn the_index_of_one_tenant_is_as_it_should_be() {
    let (tenants, world) = (TestTenants::new().await, World::new(cases::schema()).await);
    let store = world.store(&tenants).await;
    let (life, dense) = (RowKey::Uuid(tenants.life("acme").uuid()), tenancy_vector::VectorName::dense());
    world.server.run_as_owner(&world.tables.index_sql(&life, &dense).unwrap()).await;
    store.prepare().await.unwrap();
    world.server.run_as_owner(&world.tables.drop_index_sql(&life, &dense).unwrap()).await;
    assert_eq!(world.number("select count(*) from pg_indexes where indexname like 'tenancy_hnsw%'").await, 0);
    assert!(world.tables.index_sql(&life, &tenancy_vector::VectorName::sparse()).is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_of_another_schema_is_refused() {
    let (tenants, world) = (TestTenants::new().await, World::new(cases::schema()).await);
    let other = Schema::hybrid(cases::DIMENSION + 1).unwrap();
    let store = VectorStore::new(tenants.realm(), world.backend(tenants.realm()).await, other.clone());
    assert!(matches!(store.prepare().await, Err(VectorError::SchemaMismatch)));
    let mine = cases::of(&tenants, &store, "acme").await;
    let point = tenancy_vector::Point::hybrid(
        cases::id("A1"),
        vec![1.0; cases::DIMENSION + 1],
        cases::terms(&[7]),
        serde_json::Map::new(),
    );
    let refused = mine.upsert(vec![point.unwrap()]).await;
    assert!(matches!(refused, Err(VectorError::SchemaMismatch)), "{refused:?}");
}
