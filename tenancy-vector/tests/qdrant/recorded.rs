//! Everything that reached a server while every case ran: each request has its scope at the root and at every leaf.

use std::collections::BTreeSet;

use pb::condition::ConditionOneOf;
use pb::r#match::MatchValue;
use pb::points_selector::PointsSelectorOneOf;
use pb::points_update_operation::Operation;
use pb::shard_key::Key;
use qdrant_client::qdrant as pb;
use tenancy_testkit::TestTenants;
use tenancy_testkit::qdrant::WireRequest;
use tenancy_vector::VectorStore;

use crate::walk::Walk;
use crate::{Layout, Wire, cases, handle, tenants};

#[tokio::test(flavor = "multi_thread")]
async fn every_request_of_every_case_is_scoped() {
    for layout in Layout::ALL {
        let (wire, tenants) = (Wire::start(layout).await, tenants().await);
        let plain = wire.store(&tenants, cases::schema()).await;
        let mut methods = BTreeSet::new();
        run_plain(&tenants, &plain).await;
        methods.extend(assert_scoped(&wire, layout, &tenants));

        let (wire, tenants) = (Wire::start(layout).await, crate::tenants().await);
        let indexed = wire.store(&tenants, handle::schema()).await;
        run_handle(&tenants, &indexed).await;
        methods.extend(assert_scoped(&wire, layout, &tenants));

        let of_points: Vec<_> = methods.iter().filter(|method| method.starts_with("Points/")).copied().collect();
        let wanted = [
            "Points/Count",
            "Points/CreateFieldIndex",
            "Points/Facet",
            "Points/Query",
            "Points/QueryBatch",
            "Points/Scroll",
            "Points/UpdateBatch",
        ];
        assert_eq!(of_points, wanted, "{layout:?}: all that is ever sent about points");
    }
}

async fn run_plain(tenants: &TestTenants, store: &VectorStore) {
    cases::ids_do_not_collide(tenants, store).await;
    cases::lists_of_ids_reach_ones_own(tenants, store).await;
    cases::payloads_bring_no_tag(tenants, store).await;
    cases::filters_only_narrow(tenants, store).await;
}

async fn run_handle(tenants: &TestTenants, store: &VectorStore) {
    handle::reads_without_a_filter_see_ones_own(tenants, store).await;
    handle::pages_have_every_point_once(tenants, store).await;
    handle::examples_are_ones_own(tenants, store).await;
    handle::batches_keep_their_places(tenants, store).await;
    handle::every_kind_of_query_finds_ones_own(tenants, store).await;
    handle::groups_have_ones_own(tenants, store).await;
    handle::changes_reach_ones_own(tenants, store).await;
}

/// Walks every request, and says which methods there were.
fn assert_scoped(wire: &Wire, layout: Layout, tenants: &TestTenants) -> BTreeSet<&'static str> {
    let names = ["acme", "globex"].into_iter().chain(cases::MORE_TENANTS);
    let lives: BTreeSet<_> = names.map(|name| tenants.life(name).uuid().to_string()).collect();
    let requests = wire.server.requests();
    assert!(requests.len() > 50, "{layout:?}");
    for request in &requests {
        // The walk says what it misses by a panic that shows the request.
        walk(request, layout, &lives);
    }
    requests.iter().map(WireRequest::method).collect()
}

/// Each request that a server has is scoped to one of the tenants.
pub(crate) fn assert_each_is_scoped(wire: &Wire, layout: Layout, tenants: &TestTenants) {
    let lives = ["acme", "globex"].map(|name| tenants.life(name).uuid().to_string());
    let requests = wire.server.requests();
    assert!(!requests.is_empty(), "{layout:?}");
    requests.iter().for_each(|request| walk(request, layout, &BTreeSet::from(lives.clone())));
}

fn walk(request: &WireRequest, layout: Layout, lives: &BTreeSet<String>) {
    let shown = format!("{layout:?} {request:?}");
    let scoped = |collection: &str, filter: Option<&pb::Filter>, shard: Option<&pb::ShardKeySelector>| {
        let life = life(filter).unwrap_or_else(|| panic!("no life at the root: {shown}"));
        assert!(lives.contains(&life), "a life of nobody: {shown}");
        let partition = match layout {
            Layout::Shared => None,
            Layout::Collections => collection.strip_prefix("docs-").map(str::to_owned),
            Layout::ShardKeys => shard.and_then(|shard| match shard.shard_keys.first()?.key.as_ref()? {
                Key::Keyword(name) => Some(name.clone()),
                Key::Number(_) => None,
            }),
        };
        let ends = life.replace('-', "");
        assert!(layout == Layout::Shared || partition.as_ref().is_some_and(|name| name.ends_with(&ends)), "{shown}");
        (life, partition)
    };
    let walk_at = |collection: &str, filter: Option<&pb::Filter>, shard, check: &dyn Fn(Walk<'_>)| {
        let (life, partition) = scoped(collection, filter, shard);
        let expected = match layout {
            Layout::Collections => collection,
            Layout::Shared | Layout::ShardKeys => "docs",
        };
        let shard_key = if layout == Layout::ShardKeys { partition.as_deref() } else { None };
        check(Walk { collection: expected, shard_key, life: &life, shown: &shown });
    };
    match request.method() {
        "Points/Query" => {
            let query: &pb::QueryPoints = request.message().unwrap();
            let at = (query.filter.as_ref(), query.shard_key_selector.as_ref());
            walk_at(&query.collection_name, at.0, at.1, &|walk| walk.query(query));
        }
        "Points/QueryBatch" => {
            let batch: &pb::QueryBatchPoints = request.message().unwrap();
            assert!(!batch.query_points.is_empty(), "{shown}");
            for query in &batch.query_points {
                assert_eq!(query.collection_name, batch.collection_name, "{shown}");
                let at = (query.filter.as_ref(), query.shard_key_selector.as_ref());
                walk_at(&query.collection_name, at.0, at.1, &|walk| walk.query(query));
            }
        }
        "Points/UpdateBatch" => {
            let batch: &pb::UpdateBatchPoints = request.message().unwrap();
            assert_eq!(batch.wait, Some(true), "a write that is not waited for is not known to be done: {shown}");
            for operation in &batch.operations {
                let (filter, shard) = of_operation(operation);
                walk_at(&batch.collection_name, filter, shard, &|walk| walk.operation(operation));
            }
        }
        "Points/Scroll" => {
            let scroll: &pb::ScrollPoints = request.message().unwrap();
            let at = (scroll.filter.as_ref(), scroll.shard_key_selector.as_ref());
            walk_at(&scroll.collection_name, at.0, at.1, &|walk| walk.root(&scroll.collection_name, at.0, at.1));
        }
        "Points/Count" => {
            let count: &pb::CountPoints = request.message().unwrap();
            let at = (count.filter.as_ref(), count.shard_key_selector.as_ref());
            walk_at(&count.collection_name, at.0, at.1, &|walk| walk.root(&count.collection_name, at.0, at.1));
            assert_eq!(count.exact, Some(true), "an estimate is made from all tenants' points: {shown}");
        }
        "Points/Facet" => {
            let facet: &pb::FacetCounts = request.message().unwrap();
            let at = (facet.filter.as_ref(), facet.shard_key_selector.as_ref());
            walk_at(&facet.collection_name, at.0, at.1, &|walk| walk.root(&facet.collection_name, at.0, at.1));
            assert_eq!(facet.exact, Some(true), "a sample is taken from all tenants' points: {shown}");
        }
        // Of the operator's: they name no point.
        "Points/CreateFieldIndex"
        | "Qdrant/HealthCheck"
        | "Collections/Get"
        | "Collections/Create"
        | "Collections/CollectionExists"
        | "Collections/ListShardKeys"
        | "Collections/CreateShardKey" => {}
        other => panic!("{other} is never sent"),
    }
}

/// The life of the first condition.
fn life(filter: Option<&pb::Filter>) -> Option<String> {
    let Some(ConditionOneOf::Field(field)) = &filter?.must.first()?.condition_one_of else { return None };
    match field.r#match.as_ref()?.match_value.as_ref()? {
        MatchValue::Keyword(life) if field.key == "tenancy.life" => Some(life.clone()),
        _other => None,
    }
}

fn of_operation(operation: &pb::PointsUpdateOperation) -> (Option<&pb::Filter>, Option<&pb::ShardKeySelector>) {
    fn selected(selector: Option<&pb::PointsSelector>) -> Option<&pb::Filter> {
        match selector?.points_selector_one_of.as_ref()? {
            PointsSelectorOneOf::Filter(filter) => Some(filter),
            PointsSelectorOneOf::Points(_) => None,
        }
    }
    match operation.operation.as_ref().unwrap() {
        Operation::Upsert(list) => (list.update_filter.as_ref(), list.shard_key_selector.as_ref()),
        Operation::UpdateVectors(list) => (list.update_filter.as_ref(), list.shard_key_selector.as_ref()),
        Operation::SetPayload(op) => (selected(op.points_selector.as_ref()), op.shard_key_selector.as_ref()),
        Operation::OverwritePayload(op) => (selected(op.points_selector.as_ref()), op.shard_key_selector.as_ref()),
        Operation::DeletePayload(op) => (selected(op.points_selector.as_ref()), op.shard_key_selector.as_ref()),
        Operation::DeleteVectors(op) => (selected(op.points_selector.as_ref()), op.shard_key_selector.as_ref()),
        Operation::DeletePoints(op) => (selected(op.points.as_ref()), op.shard_key_selector.as_ref()),
        other => panic!("an operation that is never sent: {other:?}"),
    }
}
