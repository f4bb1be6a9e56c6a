//! Row keys of every type that a database of tenants may have.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tenancy_core::{Credential, Life, Reach, RowKey, StoreVerdict, TenantId, TenantRecord};
use tenancy_pg::{Declaration, RowKeyType};
use tenancy_testkit::TestTenants;
use tenancy_vector::conformance::{self, Check};
use tenancy_vector::pgvector::{PgVectorBackend, PgVectorError};
use tenancy_vector::{Schema, VectorBackend, VectorError, VectorName, VectorStore};

use crate::cases;
use crate::library::{code, run};
use crate::world::World;

fn text(text: &str) -> RowKey {
    RowKey::Text(TenantId::parse(text).unwrap())
}

/// A type, what SQL calls it, and keys of it that are easily taken for each other.
fn kinds() -> [(RowKeyType, &'static str, [RowKey; 3]); 2] {
    [
        (RowKeyType::BigInt, "bigint", [RowKey::BigInt(7), RowKey::BigInt(-7), RowKey::BigInt(i64::MIN)]),
        (RowKeyType::Text, "text", [text("acme"), text("ACME"), text(&"a".repeat(128))]),
    ]
}

const NAMES: [&str; 3] = ["one", "two", "three"];

/// A database with such row keys, and tenants that have them.
async fn world(keys: RowKeyType, row_keys: &[RowKey; 3], schema: Schema) -> (TestTenants, World) {
    let tenants = TestTenants::new().await;
    let (issuer, born) = (tenants.issuer().issuer().to_owned(), SystemTime::now() - Duration::from_secs(60));
    for (name, key) in NAMES.iter().zip(row_keys) {
        let record = TenantRecord::new(TenantId::parse(name).unwrap(), Life::random(), born).row_key_of(key.clone());
        tenants.directory().add(record.claim(&issuer, name)).unwrap();
    }
    let mut world = World::bare(schema).await;
    world.tables = world.tables.clone().with_row_keys(keys).unwrap();
    let tables = world.tables.tenant_tables();
    let declared = tables.into_iter().fold(Declaration::builder(), |all, table| all.tenant_table(table));
    world.declaration = declared.build().unwrap();
    world.migrate().await;
    (tenants, world)
}

async fn erase(tenants: &TestTenants, store: &VectorStore, name: &str, life: Life) -> StoreVerdict {
    let credential = Credential::bearer(tenants.operator_token());
    let (reach, ttl) = (Reach::One(TenantId::parse(name).unwrap()), Duration::from_secs(60));
    let grant = tenants.realm().operators().open(&credential, "offboarding", "CASE-1", reach, ttl).await.unwrap();
    tenants.realm().erase_store(&grant, life, store).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_back_end_conforms_with_row_keys_of_every_type() {
    for (keys, _, row_keys) in kinds() {
        let (tenants, world) = world(keys, &row_keys, conformance::schema().unwrap()).await;
        let realm = tenants.realm();
        let backend: Arc<dyn VectorBackend> = Arc::new(world.backend(realm).await);
        let (one, two) = (|| tenants.context("one"), || tenants.context("two"));
        for check in Check::ALL {
            check.run(realm, &backend, &one().await, &two().await).await.unwrap();
        }
    }
}

/// Each tenant has its own points and no other's, an index of its own, and an end that takes no other along.
#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_nearly_alike_keep_tenants_apart() {
    for (keys, sql, row_keys) in kinds() {
        let (tenants, world) = world(keys, &row_keys, cases::schema()).await;
        let store = world.store(&tenants).await;
        for (name, key) in NAMES.iter().zip(&row_keys) {
            cases::of(&tenants, &store, name).await.upsert(vec![cases::point("A1", 0.5, name)]).await.unwrap();
            world.server.run_as_owner(&world.tables.index_sql(key, &VectorName::dense()).unwrap()).await;
        }
        store.prepare().await.unwrap();
        assert_eq!(world.number("select count(*) from pg_indexes where indexname like 'tenancy_hnsw%'").await, 3);
        let other = RowKey::Uuid(Life::random().uuid());
        assert!(world.tables.index_sql(&other, &VectorName::dense()).is_none(), "a key of another type");
        let all = async || {
            let mut owners = Vec::new();
            for name in NAMES {
                let hits = cases::of(&tenants, &store, name).await.query(&cases::near()).await.unwrap();
                owners.extend(hits.iter().map(|hit| hit.payload()["owner"].as_str().unwrap().to_owned()));
            }
            owners
        };
        assert_eq!(all().await, NAMES, "{sql}");
        let life = tenants.context("two").await.life();
        tenants.erase("two");
        assert_eq!(erase(&tenants, &store, "two", life).await, StoreVerdict::LogicalOnly, "{sql}");
        assert_eq!(world.number("select count(*) from chunk").await, 2, "{sql}");
        for name in ["one", "three"] {
            assert_eq!(cases::of(&tenants, &store, name).await.count(None).await.unwrap(), 1, "{sql} {name}");
        }
    }
}

/// Nobody knows the row key of a life that never wrote when it is dropped: it is kept under one that nobody has.
#[tokio::test(flavor = "multi_thread")]
async fn a_life_that_never_wrote_is_not_entered_after_its_end() {
    for (keys, sql, row_keys) in kinds() {
        let (tenants, world) = world(keys, &row_keys, cases::schema()).await;
        let store = world.store(&tenants).await;
        let record = tenants.context("one").await.record().clone();
        for name in ["one", "three"] {
            let life = tenants.context(name).await.life();
            tenants.erase(name);
            for _again in 0..2 {
                assert_eq!(erase(&tenants, &store, name, life).await, StoreVerdict::LogicalOnly, "{sql} {name}");
            }
        }
        let own = "select current_setting('tenancy.row_key')";
        let mut late = world.app_as(if sql == "text" { "acme" } else { "7" }).await;
        let life = record.life().uuid();
        let enter = format!(
            "insert into chunk_life (tenant_id, life) values (({own})::{sql}, '{life}') on conflict do nothing"
        );
        assert_eq!(run(&mut late, &enter).await.unwrap(), 0, "{sql}");
        let point = format!(
            "insert into chunk (tenant_id, life, id, digest, name, payload) values (({own})::{sql}, '{life}', gen_random_uuid(), '', '', '{{}}')"
        );
        assert_eq!(code(run(&mut late, &point).await), "23503", "{sql}");
        cases::of(&tenants, &store, "two").await.upsert(vec![cases::point("A1", 0.5, "two")]).await.unwrap();
    }
}

/// Tables of another type of row keys are refused where a back end is made, and a tenant of another type where it is used.
#[tokio::test(flavor = "multi_thread")]
async fn row_keys_of_another_type_are_refused() {
    let [(keys, _, row_keys), _] = kinds();
    let (tenants, world) = world(keys, &row_keys, cases::schema()).await;
    let uuids = World::bare(cases::schema()).await.tables;
    let refused = PgVectorBackend::new(world.database(tenants.realm()).await, uuids);
    assert!(matches!(refused, Err(PgVectorError::NotDeclared { .. })));
    let store = world.store(&tenants).await;
    let unfit = cases::of(&tenants, &store, "acme").await;
    assert!(matches!(unfit.count(None).await, Err(VectorError::Backend(_))), "a tenant whose row key is a uuid");
    assert_eq!(cases::of(&tenants, &store, "one").await.count(None).await.unwrap(), 0, "positive control");
}
