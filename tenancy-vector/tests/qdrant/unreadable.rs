//! Points with payloads deeper than the answer of a server can be read, and than the server itself reads. This crate stores
//! none; whoever wrote past it did.

use std::time::Duration;

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::points_client::PointsClient;
use qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use tenancy_core::{Credential, Life, Reach, StoreVerdict, TenantId};
use tenancy_testkit::TestTenants;
use tenancy_vector::{Scroll, TenantVectors, VectorError, VectorStore};
use tonic::transport::Channel;

use crate::{Layout, Wire, cases, tenants};

/// More than the hundred levels of a message have room for, and more than the 128 of the engine's JSON.
const DEPTHS: [usize; 3] = [40, 120, 200];

/// Puts a value that deep into every other of the points that were written last, past this crate. A server that can't read
/// what it has just stored fails, and has stored it.
async fn spoil(wire: &Wire, depth: usize) {
    let last: pb::UpdateBatchPoints = wire.server.messages().pop().unwrap();
    let upsert = match last.operations.last().and_then(|one| one.operation.clone()).unwrap() {
        pb::points_update_operation::Operation::Upsert(upsert) => upsert,
        other => panic!("{other:?}"),
    };
    let channel = Channel::from_shared(wire.server.url()).unwrap().connect().await.unwrap();
    for point in upsert.points.into_iter().step_by(2) {
        let this = PointsSelectorOneOf::Points(pb::PointsIdsList { ids: point.id.into_iter().collect() });
        let request = pb::SetPayloadPoints {
            collection_name: last.collection_name.clone(),
            wait: Some(true),
            payload: [("v".to_owned(), pb::Value::from(1i64))].into(),
            points_selector: Some(pb::PointsSelector { points_selector_one_of: Some(this) }),
            shard_key_selector: upsert.shard_key_selector.clone(),
            key: Some(vec!["a"; depth].join(".")),
            ..pb::SetPayloadPoints::default()
        };
        let set = PointsClient::new(channel.clone()).set_payload(request).await;
        assert!(set.is_ok() || depth >= 128, "{set:?}");
    }
}

pub(crate) async fn erase(tenants: &TestTenants, life: Life, store: &VectorStore) -> StoreVerdict {
    let operator = Credential::bearer(tenants.operator_token());
    let (reach, minute) = (Reach::One(TenantId::parse("acme").unwrap()), Duration::from_secs(60));
    let grant = tenants.realm().operators().open(&operator, "offboarding", "CASE-1", reach, minute).await.unwrap();
    tenants.realm().erase_store(&grant, life, store).await.unwrap()
}

async fn all(mine: &TenantVectors) -> Result<usize, VectorError> {
    Ok(mine.scroll(&Scroll::new(), None).await?.points().len())
}

/// They count, a scan says that it can't read them, and an erasure takes them with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_point_that_nobody_can_read_is_counted_and_erased() {
    for layout in Layout::ALL {
        for depth in DEPTHS {
            tokio::time::timeout(Duration::from_secs(30), spoiled(layout, depth)).await.expect("it hangs");
        }
    }
}

async fn spoiled(layout: Layout, depth: usize) {
    let (wire, tenants) = (Wire::start(layout).await, tenants().await);
    let store = wire.store(&tenants, cases::schema()).await;
    let (mine, theirs) = (cases::of(&tenants, &store, "acme").await, cases::of(&tenants, &store, "globex").await);
    let at = format!("{depth} levels, {layout:?}");
    theirs.upsert(vec![cases::point("B1", 0.5, "b")]).await.unwrap();
    mine.upsert((0..6).map(|n| cases::point(&n.to_string(), 0.5, "a")).collect()).await.unwrap();
    assert_eq!(all(&mine).await.unwrap(), 6, "positive control: {at}");
    spoil(&wire, depth).await;

    assert_eq!(mine.count(None).await.unwrap(), 6, "each counts: {at}");
    let scan = all(&mine).await;
    assert!(matches!(scan, Err(VectorError::Backend(_))), "none is left out in silence: {at}: {scan:?}");
    assert_eq!((theirs.count(None).await.unwrap(), all(&theirs).await.unwrap()), (1, 1), "{at}");

    let life = tenants.life("acme");
    tenants.erase("acme");
    let verdict = erase(&tenants, life, &store).await;
    let wanted = if layout == Layout::Shared { StoreVerdict::LogicalOnly } else { StoreVerdict::Verified };
    assert_eq!(verdict, wanted, "{at}");
    assert_eq!((theirs.count(None).await.unwrap(), all(&theirs).await.unwrap()), (1, 1), "the neighbour's stays: {at}");
}

/// A verification that meets what it can't read does not call it gone.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_and_can_not_be_read_is_not_called_gone() {
    let (wire, tenants) = (Wire::start(Layout::Shared).await, tenants().await);
    let store = wire.store(&tenants, cases::schema()).await;
    let mine = cases::of(&tenants, &store, "acme").await;
    mine.upsert(vec![cases::point("1", 0.5, "a")]).await.unwrap();
    spoil(&wire, 40).await;
    let life = tenants.life("acme");
    tenants.erase("acme");
    // The server says that it deletes, and does not.
    for call in 1..=3 {
        let lie = tenancy_testkit::qdrant::WireFault::Answer(pb::UpdateStatus::ClockRejected);
        wire.server.fail("Points/UpdateBatch", call, lie);
    }
    let failed = erase(&tenants, life, &store).await;
    let why = "the engine failed: the server does not say that the write is done";
    assert_eq!(failed, StoreVerdict::failed(why));
    assert_eq!(erase(&tenants, life, &store).await, StoreVerdict::LogicalOnly, "positive control");
}
