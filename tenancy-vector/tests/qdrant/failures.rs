//! A server that goes away, does not answer, or says something else than that it is done.

use std::time::Duration;

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::UpdateStatus;
use qdrant_client::qdrant::collections_client::CollectionsClient;
use tenancy_core::{Denial, StoreVerdict};
use tenancy_testkit::TestTenants;
use tenancy_testkit::qdrant::WireFault;
use tenancy_vector::qdrant::QdrantOptions;
use tenancy_vector::{Change, Filter, PayloadKey, Point, Select, TenantVectors, Upload, VectorError, VectorStore};
use tonic::Code;

use crate::unreadable::erase;
use crate::{Layout, Wire, cases, tenants};

/// A server, and acme and globex with a point each.
struct House {
    wire: Wire,
    tenants: TestTenants,
    mine: TenantVectors,
    theirs: TenantVectors,
}

impl House {
    async fn with(layout: Layout, options: impl Fn(QdrantOptions) -> QdrantOptions) -> Self {
        let (wire, tenants) = (Wire::start(layout).await, tenants().await);
        let backend = wire.connect(options(wire.options()), &cases::schema()).await;
        let store = VectorStore::new(tenants.realm(), backend, cases::schema());
        let (mine, theirs) = (cases::of(&tenants, &store, "acme").await, cases::of(&tenants, &store, "globex").await);
        mine.upsert(vec![cases::point("A1", 0.5, "a")]).await.unwrap();
        theirs.upsert(vec![cases::point("B1", 0.5, "b")]).await.unwrap();
        wire.server.clear_requests();
        Self { wire, tenants, mine, theirs }
    }

    fn asked(&self, method: &str) -> usize {
        self.wire.server.requests().iter().filter(|request| request.method() == method).count()
    }

    async fn reads(&self) -> Result<usize, VectorError> {
        Ok(self.mine.query(&cases::near()).await?.len())
    }
}

fn is_failure<T>(result: Result<T, VectorError>) -> bool {
    matches!(result, Err(VectorError::Backend(_)))
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_the_server_calls_completed_is_done() {
    let house = House::with(Layout::Shared, |options| options).await;
    for (status, done) in [
        (UpdateStatus::Acknowledged, false),
        (UpdateStatus::WaitTimeout, false),
        (UpdateStatus::ClockRejected, false),
        (UpdateStatus::UnknownUpdateStatus, false),
        (UpdateStatus::Completed, true),
    ] {
        house.wire.server.answer_with("Points/UpdateBatch", status);
        let written = house.mine.upsert(vec![cases::point("A2", 0.5, "a")]).await;
        assert_eq!(written.is_ok(), done, "{status:?}");
        house.wire.server.answer_with("Points/UpdateBatch", status);
        assert_eq!(house.mine.delete(&[cases::id("A2")]).await.is_ok(), done, "{status:?}");
    }
    assert_eq!(house.reads().await.unwrap(), 1);
}

/// The server is cut off before or after the work, as often as it is asked again, and once more.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_is_asked_again_and_a_write_where_that_changes_nothing() {
    for fault in [WireFault::CutBefore, WireFault::CutAfter] {
        let house = House::with(Layout::Shared, |options| options.retries(2).breaker(100, Duration::ZERO)).await;
        let fail = |method, times| (1..=times).for_each(|call| house.wire.server.fail(method, call, fault.clone()));
        fail("Points/Query", 2);
        assert_eq!(house.reads().await.unwrap(), 1, "{fault:?}");
        assert_eq!(house.asked("Points/Query"), 3);
        fail("Points/Query", 3);
        assert!(is_failure(house.reads().await), "{fault:?}");
        assert_eq!(house.asked("Points/Query"), 6);

        house.reads().await.unwrap();
        fail("Points/UpdateBatch", 2);
        house.mine.upsert(vec![cases::point("A2", 0.5, "a")]).await.unwrap();
        assert_eq!((house.asked("Points/UpdateBatch"), house.mine.count(None).await.unwrap()), (3, 2), "{fault:?}");

        let owner = || Filter::Equals(PayloadKey::parse("owner").unwrap(), "a".into());
        let object = cases::object(serde_json::json!({"seen": true}));
        for (mechanism, change) in [
            ("by a filter", Change::SetPayload(Select::Matching(owner()), object, None)),
            ("to insert", Change::Insert(vec![cases::point("A3", 0.5, "a")])),
            ("on a condition", Change::Update(vec![cases::point("A1", 0.5, "a")], Some(owner()))),
            ("to delete by a filter", Change::Delete(Select::Matching(owner()))),
        ] {
            // A read connects again where the last fault cut the connection.
            house.reads().await.unwrap();
            let before = house.asked("Points/UpdateBatch");
            fail("Points/UpdateBatch", 1);
            assert!(is_failure(house.mine.change(vec![change]).await), "{mechanism}, {fault:?}");
            assert_eq!(house.asked("Points/UpdateBatch"), before + 1, "sent once: {mechanism}, {fault:?}");
        }
    }
}

/// A refusal is an answer: the same request would be refused again.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_not_asked_for_again() {
    for code in [Code::InvalidArgument, Code::Internal, Code::PermissionDenied, Code::ResourceExhausted] {
        let house = House::with(Layout::Shared, |options| options).await;
        house.wire.server.fail("Points/Query", 1, WireFault::Refuse(code));
        assert!(is_failure(house.reads().await), "{code:?}");
        assert_eq!(house.asked("Points/Query"), 1, "{code:?}");
        assert_eq!(house.reads().await.unwrap(), 1, "{code:?}");
    }
}

/// What fails in a collection closes the collection, and no other.
#[tokio::test(flavor = "multi_thread")]
async fn a_collection_that_fails_is_left_alone_for_a_while() {
    let patience = Duration::from_millis(300);
    let house = House::with(Layout::Collections, |options| options.retries(0).breaker(3, patience)).await;
    for call in 1..=3 {
        house.wire.server.fail("Points/Query", call, WireFault::Refuse(Code::Unavailable));
    }
    for _ in 0..3 {
        assert!(is_failure(house.reads().await));
    }
    assert!(matches!(house.reads().await, Err(VectorError::Denied(Denial::BreakerOpen))));
    assert_eq!(house.asked("Points/Query"), 3, "nothing is sent");
    assert_eq!(cases::denied(&house.tenants, "acme", "breaker.open").await, 1, "on record");
    assert_eq!(house.theirs.query(&cases::near()).await.unwrap().len(), 1, "the neighbour has another");
    tokio::time::sleep(patience).await;
    assert_eq!(house.reads().await.unwrap(), 1, "tried again, and well");
    assert_eq!(house.reads().await.unwrap(), 1);
}

/// A collection that is gone when its life is dropped is no failure, however the server says it. Any other answer is one.
#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_is_gone_already_is_dropped() {
    for (says, verdict) in [
        (None, StoreVerdict::Verified),
        (Some(Code::NotFound), StoreVerdict::Verified),
        (Some(Code::Internal), StoreVerdict::failed("the engine failed: the server failed (Internal)")),
    ] {
        let (wire, tenants) = (Wire::start(Layout::Collections).await, tenants().await);
        let store = wire.store(&tenants, cases::schema()).await;
        let mine = cases::of(&tenants, &store, "acme").await;
        mine.upsert(vec![cases::point("A1", 0.5, "a")]).await.unwrap();
        let written: pb::UpdateBatchPoints = wire.server.messages().pop().unwrap();
        let gone = pb::DeleteCollection { collection_name: written.collection_name, timeout: None };
        let mut collections = CollectionsClient::connect(wire.server.url()).await.unwrap();
        assert!(collections.delete(gone).await.unwrap().into_inner().result, "somebody else removes it");
        let life = tenants.life("acme");
        tenants.erase("acme");
        if let Some(code) = says {
            wire.server.fail("Collections/Delete", 1, WireFault::Refuse(code));
        }
        assert_eq!(erase(&tenants, life, &store).await, verdict, "{says:?}");
    }
}

/// The place of a life is dropped, and the answer is lost: asked again, the server has no such place.
#[tokio::test(flavor = "multi_thread")]
async fn a_drop_whose_answer_was_lost_is_done() {
    for (layout, method, fault, verdict) in [
        (Layout::Collections, "Collections/Delete", WireFault::CutAfter, StoreVerdict::Verified),
        (Layout::ShardKeys, "Collections/DeleteShardKey", WireFault::CutAfter, StoreVerdict::Verified),
        (
            Layout::ShardKeys,
            "Collections/DeleteShardKey",
            WireFault::Refuse(Code::NotFound),
            StoreVerdict::failed("the engine failed: the server failed (NotFound)"),
        ),
    ] {
        let (wire, tenants) = (Wire::start(layout).await, tenants().await);
        let store = wire.store(&tenants, cases::schema()).await;
        let (mine, theirs) = (cases::of(&tenants, &store, "acme").await, cases::of(&tenants, &store, "globex").await);
        mine.upsert(vec![cases::point("A1", 0.5, "a")]).await.unwrap();
        theirs.upsert(vec![cases::point("B1", 0.5, "b")]).await.unwrap();
        let life = tenants.life("acme");
        tenants.erase("acme");
        wire.server.fail(method, 1, fault.clone());
        assert_eq!(erase(&tenants, life, &store).await, verdict, "{layout:?}, {fault:?}");
        let asked = wire.server.requests().iter().filter(|request| request.method() == method).count();
        assert_eq!(asked, if matches!(fault, WireFault::CutAfter) { 2 } else { 1 }, "{layout:?}, {fault:?}");
        assert_eq!(theirs.count(None).await.unwrap(), 1, "the neighbour's stays");
    }
}

/// What one tenant asks and does not get in time closes the door to that tenant alone.
#[tokio::test(flavor = "multi_thread")]
async fn time_outs_of_one_tenant_are_not_the_neighbours() {
    let (short, long) = (Duration::from_millis(400), Duration::from_secs(3600));
    let house = House::with(Layout::Shared, |options| options.retries(0).timeout(short).breaker(2, long)).await;
    for _ in 0..2 {
        house.wire.server.fail("Points/Query", 1, WireFault::Delay(long));
        assert!(is_failure(house.reads().await));
    }
    assert!(matches!(house.reads().await, Err(VectorError::Denied(Denial::BreakerOpen))));
    assert_eq!(house.theirs.query(&cases::near()).await.unwrap().len(), 1);
}

/// V15: the server goes away in the middle of an upload. The caller learns how far it got, and goes on there.
#[tokio::test(flavor = "multi_thread")]
async fn v15_an_upload_that_broke_goes_on_where_it_broke() {
    // Which batch of ten fails, whether it is sent once more, and whether the server stored it all the same.
    for (fault, batch, again, stored) in [
        (WireFault::CutBefore, 4, true, false),
        (WireFault::CutAfter, 4, true, true),
        (WireFault::Refuse(Code::Internal), 4, false, false),
        (WireFault::Refuse(Code::Unavailable), 4, true, false),
        (WireFault::Refuse(Code::ResourceExhausted), 10, false, false),
        (WireFault::CutBefore, 1, true, false),
        (WireFault::CutAfter, 10, true, true),
        (WireFault::Answer(UpdateStatus::WaitTimeout), 6, false, true),
        (WireFault::Answer(UpdateStatus::ClockRejected), 1, false, false),
    ] {
        let house = House::with(Layout::Shared, |options| options.retries(1)).await;
        let _own = house.mine.delete(&[cases::id("A1")]).await.unwrap();
        let points: Vec<Point> = (0..1000).map(|n| cases::point(&format!("doc:{n}"), 0.5, "acme")).collect();
        let stream = |points: &[Point]| futures_util::stream::iter(points.to_vec());
        let upload = || Upload::new().batch(100).unwrap();
        for call in batch..=batch + usize::from(again) {
            house.wire.server.fail("Points/UpdateBatch", call, fault.clone());
        }
        let broken = house.mine.upload(stream(&points), upload(), |_| {}).await.unwrap_err();
        let acknowledged = 100 * (batch as u64 - 1);
        assert_eq!((broken.acknowledged(), broken.unknown()), (acknowledged, 100), "{fault:?}");
        let there = acknowledged + if stored { 100 } else { 0 };
        assert_eq!(house.mine.count(None).await.unwrap(), there, "{fault:?}");
        let rest = usize::try_from(broken.acknowledged()).unwrap();
        let left = 1000 - acknowledged;
        assert_eq!(house.mine.upload(stream(&points[rest..]), upload(), |_| {}).await.unwrap(), left);
        assert_eq!(house.mine.count(None).await.unwrap(), 1000, "each once: {fault:?}");
        assert_eq!(house.theirs.count(None).await.unwrap(), 1);
    }
}
