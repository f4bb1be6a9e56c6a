//! A collection with shard keys: each has a shard of its own.

use qdrant_client::qdrant as pb;
use tonic::Code;

use crate::{House, collection, nearest, number, of, point, upsert};

fn key(key: &str) -> pb::ShardKey {
    key.to_owned().into()
}

fn selector(keys: &[&str], fallback: Option<&str>) -> Option<pb::ShardKeySelector> {
    let shard_keys = keys.iter().map(|name| key(name)).collect();
    Some(pb::ShardKeySelector { shard_keys, fallback: fallback.map(key) })
}

fn create(name: &str, state: Option<pb::ReplicaState>) -> pb::CreateShardKeyRequest {
    let request =
        pb::CreateShardKey { shard_key: Some(key(name)), initial_state: state.map(Into::into), ..Default::default() };
    pb::CreateShardKeyRequest { request: Some(request), collection_name: "c".into(), timeout: None }
}

fn put(id: u64, tenant: &str, keys: Option<pb::ShardKeySelector>) -> pb::UpsertPoints {
    pb::UpsertPoints { points: vec![point(id, tenant, [1.0, id as f32], &[])], shard_key_selector: keys, ..upsert() }
}

/// With the shards `a` and `b`.
async fn house() -> House {
    let mut house = House::empty().await;
    let custom = Some(pb::ShardingMethod::Custom.into());
    house.collections.create(pb::CreateCollection { sharding_method: custom, ..collection() }).await.unwrap();
    for name in ["a", "b"] {
        house.collections.create_shard_key(create(name, None)).await.unwrap();
    }
    house
}

#[tokio::test]
async fn the_same_id_in_two_shards_is_two_points() {
    let mut house = house().await;
    house.points.upsert(put(1, "a", selector(&["a"], None))).await.unwrap();
    house.points.upsert(put(1, "b", selector(&["b"], None))).await.unwrap();
    let count = |keys| pb::CountPoints { shard_key_selector: keys, collection_name: "c".into(), ..Default::default() };
    for (keys, wanted) in [(selector(&["a"], None), 1), (selector(&["a", "b"], None), 2), (None, 2)] {
        let found = house.points.count(count(keys)).await.unwrap().into_inner().result.unwrap().count;
        assert_eq!(found, wanted);
    }
    let query = pb::QueryPoints { shard_key_selector: selector(&["b"], None), ..nearest([1.0, 0.0]) };
    let found = house.points.query(query).await.unwrap().into_inner().result;
    assert_eq!(found.iter().map(|point| point.shard_key.clone()).collect::<Vec<_>>(), [Some(key("b"))]);
    assert_eq!(house.points.count(count(selector(&["c"], None))).await.unwrap_err().code(), Code::NotFound);
}

#[tokio::test]
async fn a_write_names_its_shard_and_a_read_that_names_none_asks_all() {
    let mut house = house().await;
    assert_eq!(house.points.upsert(put(1, "a", None)).await.unwrap_err().code(), Code::InvalidArgument);
    for (id, tenant) in [(1, "a"), (2, "b"), (3, "a"), (4, "b")] {
        house.points.upsert(put(id, tenant, selector(&[tenant], None))).await.unwrap();
    }
    let query = pb::QueryPoints { limit: Some(2), offset: Some(1), ..nearest([0.0, 1.0]) };
    assert_eq!(house.query(query).await, [(3, 3.0), (2, 2.0)], "the best of all, not of each");
    let scroll = pb::ScrollPoints { limit: Some(3), collection_name: "c".into(), ..Default::default() };
    let page = house.points.scroll(scroll).await.unwrap().into_inner();
    let found: Vec<_> = page.result.iter().map(|point| number(point.id.as_ref())).collect();
    assert_eq!((found, number(page.next_page_offset.as_ref())), (vec![1, 2, 3], 4));
    let fusion = pb::Query { variant: Some(pb::query::Variant::Fusion(pb::Fusion::Rrf.into())) };
    let arm = nearest([0.0, 1.0]);
    let prefetch = vec![pb::PrefetchQuery { query: arm.query, using: arm.using, ..Default::default() }];
    let fused = pb::QueryPoints { prefetch, query: Some(fusion), collection_name: "c".into(), ..Default::default() };
    assert_eq!(house.points.query(fused).await.unwrap_err().code(), Code::Unimplemented);
}

#[tokio::test]
async fn a_shard_that_is_not_active_leaves_its_requests_to_the_fallback() {
    let mut house = house().await;
    house.collections.create_shard_key(create("new", Some(pb::ReplicaState::Partial))).await.unwrap();
    let fallback = || selector(&["new"], Some("a"));
    house.points.upsert(put(1, "t", fallback())).await.unwrap();
    let count = |keys| pb::CountPoints { shard_key_selector: keys, collection_name: "c".into(), ..Default::default() };
    let mut counts = Vec::new();
    for keys in [selector(&["a"], None), selector(&["new"], None), fallback()] {
        counts.push(house.points.count(count(keys)).await.unwrap().into_inner().result.unwrap().count);
    }
    assert_eq!(counts, [1, 0, 1]);
    house.server.set_version("1.15.0");
    let found = house.points.count(count(fallback())).await.unwrap().into_inner().result.unwrap().count;
    assert_eq!(found, 0, "a server before 1.16 knows no fallback");
}

#[tokio::test]
async fn points_are_copied_from_shard_to_shard_and_a_shard_goes_with_its_points() {
    use pb::update_collection_cluster_setup_request::Operation;
    let mut house = house().await;
    for (id, tenant) in [(1, "t"), (2, "u")] {
        house.points.upsert(put(id, tenant, selector(&["a"], None))).await.unwrap();
    }
    let copy = Operation::ReplicatePoints(pb::ReplicatePoints {
        from_shard_key: Some(key("a")),
        to_shard_key: Some(key("b")),
        filter: Some(of("t")),
    });
    let request =
        pb::UpdateCollectionClusterSetupRequest { operation: Some(copy), collection_name: "c".into(), timeout: None };
    house.collections.update_collection_cluster_setup(request).await.unwrap();
    assert_eq!((house.count(None).await, house.count(Some(of("t"))).await), (3, 2));
    let info = pb::CollectionClusterInfoRequest { collection_name: "c".into() };
    let info = house.collections.collection_cluster_info(info).await.unwrap().into_inner();
    assert_eq!(info.local_shards.iter().map(|shard| shard.points_count).collect::<Vec<_>>(), [2, 1]);

    let delete = pb::DeleteShardKey { shard_key: Some(key("a")) };
    let delete = pb::DeleteShardKeyRequest { request: Some(delete), collection_name: "c".into(), timeout: None };
    house.collections.delete_shard_key(delete).await.unwrap();
    let list = pb::ListShardKeysRequest { collection_name: "c".into() };
    let keys = house.collections.list_shard_keys(list).await.unwrap().into_inner().shard_keys;
    assert_eq!(keys.into_iter().map(|described| described.key).collect::<Vec<_>>(), [Some(key("b"))]);
    assert_eq!((house.count(None).await, house.count(Some(of("u"))).await), (1, 0));
}
