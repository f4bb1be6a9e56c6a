//! The cases and the conformance suite on the real engine.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]

#[path = "../../tenancy-vector/tests/cases/mod.rs"]
mod cases;
#[path = "../../tenancy-vector/tests/cases/crowded.rs"]
mod crowded;
#[path = "../../tenancy-vector/tests/cases/shared.rs"]
mod shared;
#[path = "../../tenancy-vector/tests/cases/cancel.rs"]
mod sweep;

use std::sync::Arc;

use tempfile::TempDir;
use tenancy_testkit::TestTenants;
use tenancy_vector::{Schema, SharedVectors, VectorStore, conformance};
use tenancy_vector_edge::{EdgeBackend, EdgeOptions};

fn backend() -> (TempDir, EdgeBackend) {
    let root = tempfile::tempdir().unwrap();
    let backend = EdgeBackend::open(EdgeOptions::new(root.path())).unwrap();
    (root, backend)
}

/// The directory comes first, so that it goes last.
async fn start() -> (TempDir, TestTenants, VectorStore) {
    start_with(cases::schema()).await
}

async fn start_with(schema: Schema) -> (TempDir, TestTenants, VectorStore) {
    let tenants = cases::MORE_TENANTS.into_iter().fold(TestTenants::builder(), |b, name| b.tenant(name)).build().await;
    let (root, backend) = backend();
    let store = VectorStore::new(tenants.realm(), backend, schema);
    (root, tenants, store)
}

#[tokio::test]
async fn the_engine_conforms() {
    let tenants = TestTenants::new().await;
    let (_root, backend) = backend();
    let (one, two) = (tenants.context("acme").await, tenants.context("globex").await);
    conformance::run(tenants.realm(), backend, &one, &two).await.unwrap();
    shared::it_conforms(&tenants, self::backend().1).await;
}

#[tokio::test]
async fn a_shared_corpus_is_read_beside_ones_own() {
    let tenants = TestTenants::new().await;
    let (_root, backend) = backend();
    let backend = Arc::new(backend);
    let own = VectorStore::new(tenants.realm(), Arc::clone(&backend), cases::schema());
    let corpus = |name| SharedVectors::new(tenants.realm(), &shared::name(name), Arc::clone(&backend), cases::schema());
    shared::every_read_is_of_the_corpus(&tenants, &own, &corpus("handbook")).await;
    shared::one_id_is_two_points(&tenants, &own, &corpus("statutes")).await;
    shared::an_erased_corpus_takes_nothing_along(&tenants, &own, &corpus("gazette"), &corpus("almanac")).await;
}

#[tokio::test]
async fn v3_ids_do_not_collide() {
    let (_root, tenants, store) = start().await;
    cases::ids_do_not_collide(&tenants, &store).await;
    cases::spellings_stay_apart(&tenants, &store).await;
}

#[tokio::test]
async fn v4_lists_of_ids_reach_ones_own() {
    let (_root, tenants, store) = start().await;
    cases::lists_of_ids_reach_ones_own(&tenants, &store).await;
}

#[tokio::test]
async fn v5_payloads_bring_no_tag() {
    let (_root, tenants, store) = start().await;
    cases::payloads_bring_no_tag(&tenants, &store).await;
}

#[tokio::test]
async fn v7_filters_only_narrow() {
    let (_root, tenants, store) = start().await;
    cases::filters_only_narrow(&tenants, &store).await;
}

#[tokio::test]
async fn v14_wrong_calls_write_nothing() {
    let (_root, tenants, store) = start().await;
    cases::wrong_calls_write_nothing(&tenants, &store).await;
}

#[tokio::test]
async fn dropped_calls_leave_the_store_whole() {
    let root = tempfile::tempdir().unwrap();
    let backend = EdgeBackend::open(EdgeOptions::new(root.path())).unwrap();
    // One root for all: each turn has a realm, and so partitions, of its own.
    let store = |realm: &_| VectorStore::new(realm, backend.clone(), cases::schema());
    sweep::dropped_calls_leave_the_store_whole(store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ordinary_questions_bring_up_ones_own() {
    let (_root, tenants, store) = start_with(crowded::schema()).await;
    crowded::ordinary_questions_bring_up_ones_own(&tenants, &store).await;
}

/// A thousand documents of the neighbour, times `TENANCY_TEST_SCALE`.
#[tokio::test(flavor = "multi_thread")]
async fn scores_do_not_move() {
    let (_root, tenants, store) = start_with(crowded::schema()).await;
    crowded::scores_do_not_move(&tenants, &store, 1000 * scale()).await;
}

/// V11, with ten tenants for each of `TENANCY_TEST_SCALE`, up to a thousand.
#[tokio::test(flavor = "multi_thread")]
async fn v11_neighbours_thin_out_nothing() {
    let names: Vec<_> = (0..(10 * scale()).min(1000)).map(|n| format!("tenant-{n}")).collect();
    let tenants = names.iter().fold(TestTenants::builder(), |builder, name| builder.tenant(name)).build().await;
    let (_root, backend) = backend();
    let store = VectorStore::new(tenants.realm(), backend, crowded::schema());
    crowded::neighbours_thin_out_nothing(&tenants, &store, &names).await;
}

fn scale() -> usize {
    std::env::var("TENANCY_TEST_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}
