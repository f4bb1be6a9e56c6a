//! What `prepare` says of tables that are not as they should be.

use tenancy_core::RowKey;
use tenancy_pg::{Database, Declaration, Migration, PgOptions, Roles, RowKeyType, TenantTable, grant_sql};
use tenancy_testkit::{APP, TestTenants};
use tenancy_vector::pgvector::{PgVectorBackend, PgVectorError};
use tenancy_vector::{Schema, VectorError, VectorStore};

use crate::cases;
use crate::world::{ERASER, World};

/// Each with what takes it back, after which the tables are good again, and what is said of it.
const DRIFTS: &[(&str, &str, &str, &str)] = &[
    (
        "no row level security",
        "alter table chunk disable row level security",
        "alter table chunk enable row level security",
        "PG009",
    ),
    (
        "not forced",
        "alter table chunk no force row level security",
        "alter table chunk force row level security",
        "PG010 (row level security is not forced) at \"public\".\"chunk\":",
    ),
    (
        "lives not forced",
        "alter table chunk_life no force row level security",
        "alter table chunk_life force row level security",
        "PG010 (row level security is not forced) at \"public\".\"chunk_life\":",
    ),
    ("no policy", "drop policy tenancy_row_key on chunk", "", "PG014"),
    ("a policy for everybody", "create policy wide on chunk using (true)", "drop policy wide on chunk", "PG012"),
    (
        "a tenant column that may be empty",
        "alter table chunk_life drop constraint chunk_life_pkey; alter table chunk_life alter tenant_id drop not null",
        "alter table chunk_life add primary key (tenant_id)",
        "PG011",
    ),
    (
        "a vector index across tenants",
        "create index wide on chunk using hnsw (v_dense vector_ip_ops)",
        "drop index wide",
        "PG042",
    ),
    (
        "a vector index of several tenants",
        "create index wide on chunk using hnsw (v_dense vector_ip_ops) where open",
        "drop index wide",
        "PG042",
    ),
    (
        "another dimension",
        "alter table chunk alter v_dense type vector(5)",
        "alter table chunk alter v_dense type vector(4)",
        "\"public\".\"chunk\" has no column v_dense of the type vector(4)",
    ),
    (
        "no dimension",
        "alter table chunk alter v_dense type vector",
        "alter table chunk alter v_dense type vector(4)",
        "has no column v_dense of the type vector(4)",
    ),
    (
        "a vector less",
        "alter table chunk rename v_dense to v_other",
        "alter table chunk rename v_other to v_dense",
        "has no column v_dense of the type vector(4)",
    ),
    (
        "a comment that says another schema",
        "comment on table chunk is '{}'",
        "",
        "was made for another schema of vectors",
    ),
    ("a right to change lives", "grant update on chunk_life to app", "revoke update on chunk_life from app", "PG060"),
    (
        "a right to open lives",
        "grant update (open) on chunk_life to app",
        "revoke update (open) on chunk_life from app",
        "PG060",
    ),
    (
        "a right to remove lives",
        "grant delete on chunk_life to public",
        "revoke delete on chunk_life from public",
        "PG060",
    ),
    (
        "a key that removes lives along",
        "create table owners (tenant_id uuid primary key); grant delete on owners to app;
         alter table chunk_life add constraint k foreign key (tenant_id) references owners on delete cascade",
        "drop table owners cascade",
        "PG041",
    ),
    (
        "points that do not refer to lives",
        "alter table chunk drop constraint chunk_tenant_id_open_fkey",
        "alter table chunk add constraint chunk_tenant_id_open_fkey foreign key (tenant_id, open) references chunk_life (tenant_id, open)",
        "does not refer to the table of lives",
    ),
    (
        "a key that compares the tenant alone",
        "alter table chunk drop constraint chunk_tenant_id_open_fkey; alter table chunk add constraint k foreign key (tenant_id) references chunk_life",
        "alter table chunk drop constraint k; alter table chunk add constraint chunk_tenant_id_open_fkey foreign key (tenant_id, open) references chunk_life (tenant_id, open)",
        "does not refer to the table of lives",
    ),
    (
        "a key to another flag",
        "alter table chunk_life add other boolean not null default true, add unique (tenant_id, other);
         alter table chunk drop constraint chunk_tenant_id_open_fkey;
         alter table chunk add constraint k foreign key (tenant_id, open) references chunk_life (tenant_id, other)",
        "alter table chunk_life drop other cascade; alter table chunk add constraint chunk_tenant_id_open_fkey foreign key (tenant_id, open) references chunk_life (tenant_id, open)",
        "does not refer to the table of lives",
    ),
    (
        "a key that carries the closing on",
        "alter table chunk drop constraint chunk_tenant_id_open_fkey;
         alter table chunk add constraint chunk_tenant_id_open_fkey foreign key (tenant_id, open) references chunk_life (tenant_id, open) on update cascade",
        "alter table chunk drop constraint chunk_tenant_id_open_fkey; alter table chunk add constraint chunk_tenant_id_open_fkey foreign key (tenant_id, open) references chunk_life (tenant_id, open)",
        "does not refer to the table of lives",
    ),
    (
        "a key that was never checked",
        "alter table chunk drop constraint chunk_tenant_id_open_fkey;
         alter table chunk add constraint chunk_tenant_id_open_fkey foreign key (tenant_id, open) references chunk_life (tenant_id, open) not valid",
        "alter table chunk validate constraint chunk_tenant_id_open_fkey",
        "does not refer to the table of lives",
    ),
    (
        "points that may be of a closed life",
        "alter table chunk drop constraint chunk_open_check",
        "alter table chunk add constraint chunk_open_check check (open)",
        "does not refer to the table of lives",
    ),
    (
        "points that may be of a closed life, by a check that says nothing",
        "alter table chunk drop constraint chunk_open_check; alter table chunk add constraint chunk_open_check check (open or not open)",
        "alter table chunk drop constraint chunk_open_check; alter table chunk add constraint chunk_open_check check (open)",
        "does not refer to the table of lives",
    ),
    (
        "points that may say nothing of their life",
        "alter table chunk alter open drop not null",
        "alter table chunk alter open set not null",
        "does not refer to the table of lives",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn drift_is_found_before_serving() {
    let (tenants, world) = (TestTenants::new().await, World::new(cases::schema()).await);
    let store = world.store(&tenants).await;
    store.prepare().await.unwrap();
    for (mechanism, breaks, mends, said) in DRIFTS {
        world.server.run(breaks).await;
        let refused = store.prepare().await;
        let Err(VectorError::Unfit(why)) = refused else { panic!("{mechanism}: {refused:?}") };
        assert!(why.to_string().contains(said), "{mechanism}: {why}");
        world.server.run(mends).await;
        world.migrate().await;
        store.prepare().await.unwrap_or_else(|error| panic!("positive control: {mechanism}: {error}"));
    }
}

/// Where lives are declared as any other table, nothing would say that the service may close or remove them.
#[tokio::test(flavor = "multi_thread")]
async fn lives_are_declared_as_append_only() {
    let (tenants, world) = (TestTenants::new().await, World::new(cases::schema()).await);
    let [points, lives] = world.tables.tenant_tables();
    let plain = |name| TenantTable::new("public", name, "tenant_id", RowKeyType::Uuid).unwrap();
    for (mechanism, points, lives, is_fit) in [
        ("as they are", points.clone(), lives.clone(), true),
        ("lives that may be changed", points.clone(), plain("chunk_life"), false),
        ("points that may not", points.append_only(), lives, false),
    ] {
        let declaration = Declaration::builder().tenant_table(points).tenant_table(lives).build().unwrap();
        let made = world.tables.migration_sql(&declaration, APP, ERASER);
        assert_eq!(made.is_ok(), is_fit, "{mechanism}");
        world.server.run_as_owner(&grant_sql(&declaration, APP)).await;
        let options = PgOptions::new(world.server.app_options());
        let database = Database::open(tenants.realm(), options, &declaration).await.unwrap();
        match PgVectorBackend::new(database, world.tables.clone()) {
            Ok(_) => assert!(is_fit, "{mechanism}"),
            Err(refused) => {
                let needed = r#"{ table = "chunk_life", column = "tenant_id", type = "uuid", append-only = true }"#;
                assert!(!is_fit && refused.to_string().contains(needed), "{mechanism}: {refused}");
            }
        }
    }
}

/// The migration that a declaration generates, and the one of these tables, give the service the same rights.
#[tokio::test(flavor = "multi_thread")]
async fn comparing_with_the_declaration_changes_nothing() {
    let world = World::new(cases::schema()).await;
    let roles = Roles::new(APP);
    let diff = async || Migration::diff(world.server.owner_options(), &world.declaration, &roles).await.unwrap();
    assert!(diff().await.is_empty(), "{}", diff().await.up());
    let refused = world.tables.migration_sql(&world.declaration, APP, APP);
    assert!(matches!(refused, Err(PgVectorError::SameRole { .. })), "{refused:?}");
    world.server.run_as_owner("grant update (open), delete on chunk_life to app").await;
    let mending = diff().await;
    assert_eq!(mending.steps().len(), 2, "{}", mending.up());
    world.server.run_as_owner(&mending.up()).await;
    assert!(diff().await.is_empty());
    world.server.run_as_owner(&Migration::of(&world.declaration, &roles).unwrap().up()).await;
    assert!(diff().await.is_empty(), "{}", diff().await.up());
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
    assert!(matches!(store.prepare().await, Err(VectorError::Unfit(_))));
    let mine = cases::of(&tenants, &store, "acme").await;
    let point = tenancy_vector::Point::hybrid(
        cases::id("A1"),
        vec![1.0; cases::DIMENSION + 1],
        cases::terms(&[7]),
        serde_json::Map::new(),
    );
    let refused = mine.upsert(vec![point.unwrap()]).await;
    assert!(matches!(refused, Err(VectorError::Unfit(_))), "{refused:?}");
}
