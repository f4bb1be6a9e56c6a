//! Points with payloads deeper than the engine reads again. This crate stores none; whoever wrote past it did.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]

#[path = "../../tenancy-vector/tests/cases/mod.rs"]
#[expect(dead_code, reason = "the cases have tests of their own")]
mod cases;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use qdrant_edge::{
    Condition, EdgeShard, FieldCondition, Filter, JsonPath, Match, Payload, PayloadOps, ScrollRequest, SetPayloadOp,
    UpdateOperation, ValueVariants,
};
use serde_json::json;
use tenancy_core::{Credential, Reach, StoreVerdict, TenantId};
use tenancy_testkit::TestTenants;
use tenancy_vector::{Change, Scroll, Select, VectorError, VectorStore};
use tenancy_vector_edge::{EdgeBackend, EdgeOptions};

fn store(tenants: &TestTenants, root: &Path) -> VectorStore {
    VectorStore::new(tenants.realm(), EdgeBackend::open(EdgeOptions::new(root)).unwrap(), cases::schema())
}

/// Puts a value that deep into the points that `owner` is the text of, past this crate: nobody has the directory open. An
/// engine that can't read what it has just stored panics, and has stored it.
fn spoil(root: &Path, owner: &str, depth: usize) {
    let shards = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let path = |text: &str| text.parse::<JsonPath>().unwrap();
    for shard in shards.filter(|path| path.is_dir()) {
        let shard = EdgeShard::load(&shard, None).unwrap();
        let owner = Match::new_value(ValueVariants::String(owner.to_owned()));
        let those = Condition::Field(FieldCondition::new_match(path("owner"), owner));
        let filter = Some(Filter { must: Some(vec![those]), ..Filter::default() });
        let request = ScrollRequest {
            offset: None,
            limit: Some(100),
            filter,
            with_payload: Some(false.into()),
            with_vector: false.into(),
            order_by: None,
        };
        for record in shard.scroll(request).unwrap().0 {
            let set = SetPayloadOp {
                payload: Payload(cases::object(json!({ "v": 1 }))),
                points: Some(vec![record.id]),
                filter: None,
                key: Some(path(&vec!["a"; depth].join("."))),
            };
            let set = UpdateOperation::PayloadOperation(PayloadOps::SetPayload(set));
            let set = catch_unwind(AssertUnwindSafe(|| shard.update(set)));
            assert!(matches!(set, Ok(Ok(_))) || depth >= 128);
        }
        shard.flush();
    }
}

async fn erase(tenants: &TestTenants, store: &VectorStore) -> StoreVerdict {
    let life = tenants.life("acme");
    tenants.erase("acme");
    let operator = Credential::bearer(tenants.operator_token());
    let (reach, minute) = (Reach::One(TenantId::parse("acme").unwrap()), Duration::from_secs(60));
    let grant = tenants.realm().operators().open(&operator, "offboarding", "CASE-1", reach, minute).await.unwrap();
    tenants.realm().erase_store(&grant, life, store).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_point_that_the_engine_can_not_read_is_counted_deleted_and_erased() {
    for (depth, is_read) in [(40, true), (100, true), (200, false)] {
        for erased in [true, false] {
            let test = spoiled(depth, is_read, erased);
            tokio::time::timeout(Duration::from_secs(60), test).await.expect("it hangs");
        }
    }
}

async fn spoiled(depth: usize, is_read: bool, erased: bool) {
    let root = tempfile::tempdir().unwrap();
    let tenants = TestTenants::new().await;
    {
        let store = store(&tenants, root.path());
        let (mine, theirs) = (cases::of(&tenants, &store, "acme").await, cases::of(&tenants, &store, "globex").await);
        let owner = |n: usize| if n.is_multiple_of(2) { "spoiled" } else { "acme" };
        mine.upsert((0..6).map(|n| cases::point(&n.to_string(), 0.5, owner(n))).collect()).await.unwrap();
        theirs.upsert(vec![cases::point("B1", 0.5, "globex")]).await.unwrap();
    }
    spoil(root.path(), "spoiled", depth);
    let store = store(&tenants, root.path());
    let (mine, theirs) = (cases::of(&tenants, &store, "acme").await, cases::of(&tenants, &store, "globex").await);
    assert_eq!(mine.count(None).await.unwrap(), 6, "each counts, {depth}");
    let scan = mine.scroll(&Scroll::new(), None).await.map(|page| page.points().len());
    if is_read {
        assert_eq!(scan.unwrap(), 6, "{depth}");
    } else {
        assert!(matches!(scan, Err(VectorError::Backend(_))), "none is left out in silence, {depth}: {scan:?}");
    }
    if erased {
        assert_eq!(erase(&tenants, &store).await, StoreVerdict::Verified, "{depth}");
        assert!(matches!(mine.count(None).await, Err(VectorError::Denied(_))), "{depth}");
    } else {
        mine.change(vec![Change::Delete(Select::All)]).await.unwrap();
        assert_eq!(mine.count(None).await.unwrap(), 0, "{depth}");
        mine.upsert(vec![cases::point("0", 0.5, "acme")]).await.unwrap();
        assert_eq!(mine.query(&cases::near()).await.unwrap().len(), 1, "and goes on being used, {depth}");
    }
    assert_eq!(theirs.query(&cases::near()).await.unwrap().len(), 1, "{depth}");
}
