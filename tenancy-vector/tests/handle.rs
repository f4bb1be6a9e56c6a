//! The calls of a handle, on the plain back end.

#[expect(dead_code, reason = "the other cases have tests of their own")]
mod cases;
#[path = "cases/fake.rs"]
mod fake;
#[path = "cases/handle.rs"]
mod handle;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use fake::{Fake, Hooks};
use tenancy_testkit::TestTenants;
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::{
    BackendError, Change, DenseVector, Expression, Filter, Fusion, GroupBy, PayloadKey, Point, Scroll, Select,
    SparseVector, Upload, VectorError, VectorName, VectorQuery, VectorStore, WriteRequest,
};

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
        left.map(|_| true).map_err(|_| BackendError::because("gone"))
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

/// Fails whatever it is asked, from when it is told to.
struct Unasked(Arc<AtomicBool>);

impl Unasked {
    fn answer(&self) -> Result<(), BackendError> {
        if self.0.load(Ordering::Relaxed) { Err(BackendError::because("asked")) } else { Ok(()) }
    }
}

#[async_trait]
impl Hooks for Unasked {
    async fn before_write(&self, _request: &WriteRequest) -> Result<bool, BackendError> {
        self.answer().map(|()| true)
    }

    async fn before_read(&self, _name: &'static str) -> Result<(), BackendError> {
        self.answer()
    }
}

/// V7: where nothing can be found, nothing is asked, in no call.
#[tokio::test]
async fn v7_no_request_is_sent_for_an_empty_list() {
    let (tenants, told) = (TestTenants::new().await, Arc::new(AtomicBool::new(false)));
    let store = VectorStore::new(tenants.realm(), Fake::new(Unasked(Arc::clone(&told))), handle::schema());
    let mine = cases::of(&tenants, &store, "acme").await;
    mine.upsert(vec![cases::point("A1", 0.5, "a")]).await.unwrap();
    told.store(true, Ordering::Relaxed);
    let (key, ids) = (|| PayloadKey::parse("lang").unwrap(), || Filter::HasId(vec![]));
    let (none, is) = (|| Filter::AnyOf(key(), vec![]), || Filter::Equals(key(), "en".into()));
    for (mechanism, filter) in [
        ("a list of values", none()),
        ("a list of ids", ids()),
        ("one of no conditions", Filter::Any(vec![])),
        ("beside what may hold", Filter::All(vec![is(), none()])),
        ("one of two such lists", Filter::Any(vec![none(), ids()])),
        ("more than can hold", Filter::AtLeast(2, vec![is(), none(), ids()])),
        ("denied twice", none().not().not()),
        ("within an object", Filter::Nested(PayloadKey::parse("list").unwrap(), Box::new(none()))),
        ("two levels down", Filter::All(vec![Filter::Any(vec![none(), Filter::All(vec![ids(), is()])])])),
        ("the opposite of everything", Filter::Any(vec![none().not(), is()]).not()),
    ] {
        let query = || cases::near().filter(filter.clone()).unwrap();
        let fused = VectorQuery::fuse(Fusion::ranks(), [query(), query()]);
        let input = || DenseVector::new(vec![1.0; 4]).unwrap();
        let refined = VectorQuery::refine(VectorName::dense(), input(), [query(), query()]);
        let rescored = VectorQuery::rescore(Expression::Score(1), [query(), query()]);
        for query in [query(), fused.clone(), refined, rescored] {
            assert!(mine.query(&query).await.unwrap().is_empty(), "{mechanism}");
            let groups = mine.query_groups(&query, &GroupBy::new(key(), 2, 3).unwrap()).await.unwrap();
            assert!(groups.is_empty(), "{mechanism}");
        }
        let batch = mine.query_batch(&[query(), fused]).await.unwrap();
        assert!(batch.iter().all(Vec::is_empty) && batch.len() == 2, "{mechanism}");
        assert_eq!(mine.count(Some(&filter)).await.unwrap(), 0, "{mechanism}");
        assert!(mine.facet(&key(), Some(&filter), 9).await.unwrap().is_empty(), "{mechanism}");
        assert!(mine.matrix(&VectorName::dense(), Some(&filter), 9, 3).await.unwrap().is_empty(), "{mechanism}");
        let page = mine.scroll(&Scroll::new().filter(filter.clone()), None).await.unwrap();
        assert!(page.points().is_empty() && page.next().is_none(), "{mechanism}");
        let some = || Select::Matching(filter.clone());
        let changes = vec![
            Change::SetPayload(some(), cases::object(serde_json::json!({"seen": true})), None),
            Change::DeletePayload(some(), vec![key()]),
            Change::DeleteVectors(some(), vec![VectorName::sparse()]),
            Change::Delete(some()),
        ];
        mine.change(changes).await.unwrap();
    }
    let wordless = VectorQuery::refine(VectorName::sparse(), SparseVector::empty(), [cases::near()]);
    assert!(mine.query(&wordless).await.unwrap().is_empty(), "refined by a vector without terms");
    assert!(mine.get(&[]).await.unwrap().is_empty() && mine.delete(&[]).await.unwrap().removed() == 0);
    assert!(mine.query(&cases::near()).await.is_err(), "positive control");
}
