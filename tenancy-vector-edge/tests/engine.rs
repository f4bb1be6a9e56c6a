//! The cases and the conformance suite on the real engine.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]

#[path = "../../tenancy-vector/tests/cases/mod.rs"]
mod cases;
#[path = "../../tenancy-vector/tests/cases/cancel.rs"]
mod sweep;

use std::sync::Arc;

use tempfile::TempDir;
use tenancy_testkit::TestTenants;
use tenancy_vector::{VectorBackend, VectorStore, conformance};
use tenancy_vector_edge::{EdgeBackend, EdgeOptions};

fn backend() -> (TempDir, EdgeBackend) {
    let root = tempfile::tempdir().unwrap();
    let backend = EdgeBackend::open(EdgeOptions::new(root.path())).unwrap();
    (root, backend)
}

/// The directory comes first, so that it goes last.
async fn start() -> (TempDir, TestTenants, VectorStore) {
    let tenants = cases::MORE_TENANTS.into_iter().fold(TestTenants::builder(), |b, name| b.tenant(name)).build().await;
    let (root, backend) = backend();
    let store = VectorStore::new(tenants.realm(), backend, cases::schema());
    (root, tenants, store)
}

/// All of [`conformance::run`], with fresh contexts for each check: on a machine with more to do, one may take longer than
/// what is known about a tenant that nobody asks for is good for.
#[tokio::test]
async fn the_engine_conforms() {
    let tenants = TestTenants::new().await;
    let (_root, backend) = backend();
    let (realm, backend): (_, Arc<dyn VectorBackend>) = (tenants.realm(), Arc::new(backend));
    let (one, two) = (|| tenants.context("acme"), || tenants.context("globex"));
    conformance::empty_partitions(realm, &backend, &one().await).await.unwrap();
    conformance::ranking(realm, &backend, &one().await).await.unwrap();
    conformance::separation(realm, &backend, &one().await, &two().await).await.unwrap();
    conformance::replacing(realm, &backend, &one().await).await.unwrap();
    conformance::engine_ids(realm, &backend, &one().await).await.unwrap();
    conformance::life_condition(realm, &backend, &one().await, &two().await).await.unwrap();
    conformance::dropping(realm, &backend, &one().await, &two().await).await.unwrap();
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
