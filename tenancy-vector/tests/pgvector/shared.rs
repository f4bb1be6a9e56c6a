//! The shared cases.

use tenancy_testkit::TestTenants;
use tenancy_vector::VectorStore;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use crate::world::World;
use crate::{cases, handle, sweep};

macro_rules! on_postgres {
    ($($case:ident;)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $case() {
            let tenants = TestTenants::new().await;
            let store = World::new(handle::schema()).await.store(&tenants).await;
            handle::$case(&tenants, &store).await;
        }
    )*};
}

on_postgres! {
    reads_without_a_filter_see_ones_own;
    pages_have_every_point_once;
    examples_are_ones_own;
    batches_keep_their_places;
    every_kind_of_query_finds_ones_own;
    groups_have_ones_own;
    changes_reach_ones_own;
    updates_are_judged_by_what_is_there;
    uploads_are_acknowledged_batch_by_batch;
}

async fn start() -> (TestTenants, VectorStore) {
    let tenants = cases::MORE_TENANTS.into_iter().fold(TestTenants::builder(), |b, name| b.tenant(name)).build().await;
    let store = World::new(cases::schema()).await.store(&tenants).await;
    store.prepare().await.unwrap();
    (tenants, store)
}

#[tokio::test(flavor = "multi_thread")]
async fn v3_ids_do_not_collide() {
    let (tenants, store) = start().await;
    cases::ids_do_not_collide(&tenants, &store).await;
    cases::spellings_stay_apart(&tenants, &store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn v4_lists_of_ids_reach_ones_own() {
    let (tenants, store) = start().await;
    cases::lists_of_ids_reach_ones_own(&tenants, &store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn v5_payloads_bring_no_tag() {
    let (tenants, store) = start().await;
    cases::payloads_bring_no_tag(&tenants, &store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn v7_filters_only_narrow() {
    let (tenants, store) = start().await;
    cases::filters_only_narrow(&tenants, &store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn v14_wrong_calls_write_nothing() {
    let (tenants, store) = start().await;
    cases::wrong_calls_write_nothing(&tenants, &store).await;
}

/// One database for all: each turn has a realm, and so lives, of its own.
#[tokio::test(flavor = "multi_thread")]
async fn dropped_calls_leave_the_store_whole() {
    let world = World::new(cases::schema()).await;
    let store = |realm: &_| {
        let backend = block_in_place(|| Handle::current().block_on(world.backend(realm)));
        VectorStore::new(realm, backend, cases::schema())
    };
    sweep::dropped_calls_leave_the_store_whole(store).await;
}
