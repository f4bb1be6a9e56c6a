//! All stores of a tenant at once: mixed realms, suspended tenants, futures dropped half-way.

#![expect(clippy::unwrap_used, reason = "a test stops where it can't go on")]

use serde_json::{Map, json};
use tenancy_pg::{Declaration, RowKeyType, TenantTable};
use tenancy_stack::cache::EmbeddingParts;
use tenancy_stack::chat::ModelIdentity;
use tenancy_stack::vector::{ExternalId, Point, SparseVector, VectorQuery};
use tenancy_stack::{Denial, Error, TenantStores, Visibility};
use tenancy_testkit::{TestStores, TestTenants, drop_at_every_poll};

const NOTES: &str =
    "create table notes (tenant_id uuid not null, id text not null, body text not null, primary key (tenant_id, id))";

fn declaration() -> Declaration {
    let notes = TenantTable::new("public", "notes", "tenant_id", RowKeyType::Uuid).unwrap();
    Declaration::builder().tenant_table(notes).build().unwrap()
}

async fn stores(tenants: &TestTenants) -> TestStores {
    tenants.stores().tables(declaration(), NOTES).await
}

fn point(id: &str, x: f32) -> Point {
    let mut payload = Map::new();
    payload.insert("text".to_owned(), json!(id));
    let words = SparseVector::new(vec![7], vec![1.0]).unwrap();
    Point::hybrid(ExternalId::parse(id).unwrap(), vec![x, 1.0, 0.5, 0.1], words, payload).unwrap()
}

fn search() -> VectorQuery {
    let words = SparseVector::new(vec![7], vec![1.0]).unwrap();
    VectorQuery::hybrid(vec![0.9, 1.0, 0.5, 0.1], words).unwrap().limit(10).unwrap()
}

fn parts(text: &str) -> EmbeddingParts {
    EmbeddingParts {
        text: text.to_owned(),
        model: ModelIdentity { id: "m".to_owned(), version: "1".to_owned(), adapter: None },
        dimensions: 4,
        instruction: None,
        visibility: Visibility::Tenant,
    }
}

/// Writes one thing of the tenant's into every store.
async fn fill(mine: &TenantStores, word: &str) {
    sqlx::query("insert into notes (tenant_id, id, body) values ($1, 'n1', $2)")
        .bind(mine.context().life().uuid())
        .bind(word)
        .execute(&mine.database().unwrap())
        .await
        .unwrap();
    mine.vectors().unwrap().upsert(vec![point("doc-1", 0.9)]).await.unwrap();
    mine.tools().unwrap().files().write("plan.txt", word).await.unwrap();
    let kept: Vec<f32> = mine
        .caches()
        .unwrap()
        .embedding()
        .get_or_try_compute(&parts("q"), || async { Ok::<_, Error>(vec![1.0]) })
        .await
        .unwrap();
    assert_eq!(kept, [1.0]);
}

/// Looks into every store and finds only what the tenant itself put there.
async fn sees_only(mine: &TenantStores, word: &str) {
    let db = mine.database().unwrap();
    let bodies: Vec<String> = sqlx::query_scalar("select body from notes").fetch_all(&db).await.unwrap();
    assert_eq!(bodies, [word]);
    let vectors = mine.vectors().unwrap();
    let hits = vectors.query(&search()).await.unwrap();
    assert_eq!((hits.len(), vectors.count(None).await.unwrap()), (1, 1));
    assert_eq!(mine.tools().unwrap().files().read("plan.txt").await.unwrap(), word.as_bytes());
}

#[tokio::test]
async fn each_tenant_sees_its_own_things_in_every_store() {
    let tenants = TestTenants::new().await;
    let stores = stores(&tenants).await;
    let acme = stores.scoped(&tenants.context("acme").await);
    let globex = stores.scoped(&tenants.context("globex").await);
    fill(&acme, "acme's word").await;
    fill(&globex, "globex's word").await;
    sees_only(&acme, "acme's word").await;
    sees_only(&globex, "globex's word").await;
    // A colleague of acme, through another context and clones, sees the same.
    sees_only(&stores.scoped(&tenants.context_of("acme", "colleague", &["reader"]).await).clone(), "acme's word").await;
}

#[tokio::test]
async fn no_store_takes_a_context_of_another_realm() {
    let (here, there) = (TestTenants::new().await, TestTenants::new().await);
    let (ours, theirs) = (stores(&here).await, stores(&there).await);
    let foreign = there.context("acme").await;
    assert!(matches!(ours.stores().scoped(&foreign), Err(Error::Denied(Denial::ForeignRealm))));
    assert!(theirs.stores().scoped(&foreign).is_ok(), "the positive control");
    assert_eq!(here.denied_rules().await, ["scope.foreign_realm"]);
}

#[tokio::test]
async fn a_suspended_tenant_is_stopped_in_every_store() {
    let tenants = TestTenants::new().await;
    let stores = stores(&tenants).await;
    let acme = stores.scoped(&tenants.context("acme").await);
    let globex = stores.scoped(&tenants.context("globex").await);
    fill(&acme, "w").await;
    fill(&globex, "g").await;
    let (db, vectors, caches, files) =
        (acme.database().unwrap(), acme.vectors().unwrap(), acme.caches().unwrap(), acme.tools().unwrap());
    tenants.suspend("acme");
    let stopped = |error: &(dyn std::error::Error + 'static)| {
        assert_eq!(Denial::of(error), Some(Denial::TenantSuspended), "{error}");
    };
    stopped(&sqlx::query("select 1 from notes").fetch_all(&db).await.unwrap_err());
    stopped(&db.begin().await.unwrap_err());
    stopped(&vectors.query(&search()).await.unwrap_err());
    stopped(&vectors.upsert(vec![point("doc-2", 0.1)]).await.unwrap_err());
    stopped(&files.files().read("plan.txt").await.unwrap_err());
    stopped(&files.call("nothing", "{}").await.unwrap_err());
    let computed = caches.embedding().get_or_try_compute(&parts("q"), || async { Ok::<_, Error>(vec![2.0]) }).await;
    stopped(&computed.unwrap_err());
    // And so are handles that are made from the same context now.
    assert!(acme.database().is_err() && acme.vectors().is_err() && acme.caches().is_err() && acme.tools().is_err());
    sees_only(&globex, "g").await;
}

#[tokio::test]
async fn dropping_any_future_anywhere_leaves_the_neighbour_clean() {
    let tenants = TestTenants::new().await;
    let stores = stores(&tenants).await;
    let acme = stores.scoped(&tenants.context("acme").await);
    let globex = stores.scoped(&tenants.context("globex").await);
    fill(&acme, "acme's word").await;
    fill(&globex, "globex's word").await;
    let clean = async |_: usize, _: Option<()>| sees_only(&globex, "globex's word").await;
    let db = acme.database().unwrap();
    drop_at_every_poll(
        || async {
            let mut tx = db.begin().await.unwrap();
            let _bodies: Vec<String> = sqlx::query_scalar("select body from notes").fetch_all(&mut tx).await.unwrap();
            tx.commit().await.unwrap();
        },
        clean,
    )
    .await;
    drop_at_every_poll(
        || async {
            let statement = sqlx::query("update notes set body = body where id = 'n1'").execute(&db);
            statement.await.unwrap();
        },
        clean,
    )
    .await;
    let vectors = acme.vectors().unwrap();
    drop_at_every_poll(|| async { vectors.upsert(vec![point("doc-1", 0.9)]).await.unwrap() }, clean).await;
    drop_at_every_poll(|| async { drop(vectors.query(&search()).await.unwrap()) }, clean).await;
    let files = acme.tools().unwrap();
    drop_at_every_poll(|| async { files.files().write("plan.txt", "acme's word").await.unwrap() }, clean).await;
    let caches = acme.caches().unwrap();
    drop_at_every_poll(
        || async {
            let compute = || async { Ok::<_, Error>(vec![1.0]) };
            let _kept: Vec<f32> = caches.embedding().get_or_try_compute(&parts("q"), compute).await.unwrap();
        },
        clean,
    )
    .await;
    sees_only(&acme, "acme's word").await;
    let cancelled: u64 = {
        tokio::time::sleep(std::time::Duration::from_millis(1300)).await;
        let records = tenants.audit().await;
        records.iter().filter(|r| r.outcome() == tenancy_core::Outcome::Cancelled).map(|r| r.count()).sum()
    };
    assert!(cancelled > 0, "calls that had begun are on record");
}

#[tokio::test]
async fn a_store_the_service_does_not_have_is_said_so() {
    let tenants = TestTenants::new().await;
    let stores = tenants.stores().await;
    let mine = stores.scoped(&tenants.context("acme").await);
    assert!(matches!(mine.database(), Err(Error::NotConfigured("database"))));
}
