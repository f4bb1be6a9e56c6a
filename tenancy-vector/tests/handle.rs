//! The calls of a handle, on the plain back end.

#[expect(dead_code, reason = "the other cases have tests of their own")]
mod cases;
#[path = "cases/fake.rs"]
mod fake;
#[path = "cases/handle.rs"]
mod handle;

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use fake::{Fake, Hooks};
use tenancy_testkit::TestTenants;
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::{BackendError, Point, Upload, VectorError, VectorStore, WriteRequest};

macro_rules! on_the_plain_back_end {
    ($($case:ident;)*) => {$(
        #[tokio::test]
        async fn $case() {
            let tenants = TestTenants::new().await;
            let store = VectorStore::new(tenants.realm(), ReferenceBackend::new(), handle::schema());
            handle::$case(&tenants, &store).await;
        }
    )*};
}

on_the_plain_back_end! {
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

/// Fails from the n-th write on.
struct GoesAway(AtomicU64);

#[async_trait]
impl Hooks for GoesAway {
    async fn before_write(&self, _request: &WriteRequest) -> Result<bool, BackendError> {
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.map(|_| true).map_err(|_| BackendError::failed("gone"))
    }
}

/// V15: the server goes away in the middle of ten thousand points.
#[tokio::test]
async fn v15_an_upload_that_stopped_goes_on_where_it_stopped() {
    let tenants = TestTenants::new().await;
    let store = VectorStore::new(tenants.realm(), Fake::new(GoesAway(AtomicU64::new(7))), cases::schema());
    let mine = cases::of(&tenants, &store, "acme").await;
    let points: Vec<Point> = (0..10_000).map(|n| cases::point(&format!("doc:{n}"), 0.5, "acme")).collect();
    let stream = |points: &[Point]| futures_util::stream::iter(points.to_vec());
    let mut acknowledged = 0;
    let stopped = mine.upload(stream(&points), Upload::new(), |count| acknowledged = count).await.unwrap_err();
    assert_eq!((stopped.acknowledged(), stopped.unknown(), acknowledged), (3500, 500, 3500));
    assert!(matches!(stopped.cause(), VectorError::Backend(_)));
    assert_eq!(mine.count(None).await.unwrap(), 3500);

    let honest = VectorStore::new(tenants.realm(), ReferenceBackend::new(), cases::schema());
    let mine = cases::of(&tenants, &honest, "acme").await;
    mine.upload(stream(&points[..4000]), Upload::new(), |_| {}).await.unwrap();
    let rest = usize::try_from(stopped.acknowledged()).unwrap();
    assert_eq!(mine.upload(stream(&points[rest..]), Upload::new(), |_| {}).await.unwrap(), 6500);
    assert_eq!(mine.count(None).await.unwrap(), 10_000, "what was stored twice is there once");
}
