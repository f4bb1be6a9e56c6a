//! The calls of a handle, on the real engine.

#[path = "../../tenancy-vector/tests/cases/mod.rs"]
#[expect(dead_code, reason = "the other cases have tests of their own")]
mod cases;
#[path = "../../tenancy-vector/tests/cases/handle.rs"]
mod handle;

use tenancy_testkit::TestTenants;
use tenancy_vector::VectorStore;
use tenancy_vector_edge::{EdgeBackend, EdgeOptions};

macro_rules! on_the_engine {
    ($($case:ident;)*) => {$(
        #[tokio::test]
        async fn $case() {
            let root = tempfile::tempdir().unwrap();
            let tenants = TestTenants::new().await;
            let backend = EdgeBackend::open(EdgeOptions::new(root.path())).unwrap();
            let store = VectorStore::new(tenants.realm(), backend, handle::schema());
            handle::$case(&tenants, &store).await;
        }
    )*};
}

on_the_engine! {
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
