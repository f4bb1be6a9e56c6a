//! Every method of the services is in one list, and is what the list says.

use std::collections::BTreeMap;

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::payload_index_params::IndexParams;
use qdrant_client::qdrant::qdrant_client::QdrantClient;
use tenancy_testkit::qdrant::{REFUSED, SERVED};
use tonic::Code;

use crate::{House, collection, ids, nearest, of, point, upsert};

/// Calls methods of a client with empty requests; what they answered, by name.
macro_rules! call {
    ($answers:ident, $service:literal, $client:expr; $($method:ident: $request:ident,)*) => {
        $(
            let answer = $client.$method(pb::$request::default()).await;
            let name = format!("{}/{}", $service, camel(stringify!($method)));
            $answers.insert(name, answer.map_or_else(|status| status.code(), |_| Code::Ok));
        )*
    };
}

#[tokio::test]
#[expect(deprecated, reason = "deprecated methods are refused")]
async fn what_is_not_listed_is_unimplemented_and_what_is_listed_is_not() {
    let House { server, mut points, mut collections } = House::empty().await;
    let mut health = QdrantClient::connect(server.url()).await.unwrap();
    let mut answers = BTreeMap::new();
    call!(answers, "Qdrant", health; health_check: HealthCheckRequest,);
    call!(answers, "Points", points;
        upsert: UpsertPoints, delete: DeletePoints, get: GetPoints, update_vectors: UpdatePointVectors,
        delete_vectors: DeletePointVectors, set_payload: SetPayloadPoints, overwrite_payload: SetPayloadPoints,
        delete_payload: DeletePayloadPoints, clear_payload: ClearPayloadPoints,
        create_field_index: CreateFieldIndexCollection, delete_field_index: DeleteFieldIndexCollection,
        create_vector_name: CreateVectorNameRequest, delete_vector_name: DeleteVectorNameRequest,
        search: SearchPoints, search_batch: SearchBatchPoints, search_groups: SearchPointGroups, scroll: ScrollPoints,
        recommend: RecommendPoints, recommend_batch: RecommendBatchPoints, recommend_groups: RecommendPointGroups,
        discover: DiscoverPoints, discover_batch: DiscoverBatchPoints, count: CountPoints,
        update_batch: UpdateBatchPoints, query: QueryPoints, query_batch: QueryBatchPoints,
        query_groups: QueryPointGroups, facet: FacetCounts, search_matrix_pairs: SearchMatrixPoints,
        search_matrix_offsets: SearchMatrixPoints,
    );
    call!(answers, "Collections", collections;
        get: GetCollectionInfoRequest, list: ListCollectionsRequest, create: CreateCollection,
        update: UpdateCollection, delete: DeleteCollection, update_aliases: ChangeAliases,
        list_collection_aliases: ListCollectionAliasesRequest, list_aliases: ListAliasesRequest,
        collection_cluster_info: CollectionClusterInfoRequest, collection_exists: CollectionExistsRequest,
        update_collection_cluster_setup: UpdateCollectionClusterSetupRequest, create_shard_key: CreateShardKeyRequest,
        delete_shard_key: DeleteShardKeyRequest, list_shard_keys: ListShardKeysRequest,
    );
    let listed = |lists: &[&[&str]], code: fn(Code) -> bool| {
        let mut names: Vec<_> = lists.concat().into_iter().map(str::to_owned).collect();
        names.sort_unstable();
        let answered = answers.iter().filter(|(_, answer)| code(**answer)).map(|(name, _)| name.clone());
        assert_eq!(names, answered.collect::<Vec<_>>());
        names.len()
    };
    // The compiler has seen to it that the two lists have every method of the traits: 30, 14 and one.
    let served = listed(&SERVED, |code| code != Code::Unimplemented);
    let refused = listed(&REFUSED, |code| code == Code::Unimplemented);
    assert_eq!(served + refused, 30 + 14 + 1);
    let mut recorded: Vec<_> = server.requests().iter().map(|request| request.method().to_owned()).collect();
    recorded.sort_unstable();
    assert_eq!(recorded, answers.keys().cloned().collect::<Vec<_>>(), "refused ones are kept too");
}

#[tokio::test]
async fn every_write_does_what_it_says() {
    let mut house = House::with_collection().await;
    let c = || "c".to_owned();
    house.upsert(vec![point(1, "a", [1.0, 0.0], &[1]), point(2, "b", [0.0, 1.0], &[2])], None).await;
    assert_eq!(house.text_of(1).await.as_deref(), Some("a-1"));

    let payload = || [("text".to_owned(), "new".into())].into();
    let set = |points| pb::SetPayloadPoints {
        payload: payload(),
        points_selector: points,
        collection_name: c(),
        ..Default::default()
    };
    house.points.set_payload(set(ids(&[1]))).await.unwrap();
    assert_eq!((house.text_of(1).await.as_deref(), house.count(Some(of("a"))).await), (Some("new"), 1));
    house.points.overwrite_payload(set(ids(&[1]))).await.unwrap();
    assert_eq!((house.text_of(1).await.as_deref(), house.count(Some(of("a"))).await), (Some("new"), 0));
    let clear = pb::ClearPayloadPoints { points: ids(&[1]), collection_name: c(), ..Default::default() };
    house.points.clear_payload(clear).await.unwrap();
    assert_eq!(house.text_of(1).await, None);
    // A path in quotes names the key as well as the bare one does: what is compared must be the parsed path.
    let delete = pb::DeletePayloadPoints {
        keys: vec!["\"tenant\"".into()],
        points_selector: ids(&[2]),
        collection_name: c(),
        ..Default::default()
    };
    house.points.delete_payload(delete).await.unwrap();
    assert_eq!((house.text_of(2).await.as_deref(), house.count(Some(of("b"))).await), (Some("b-2"), 0));

    let vectors = point(1, "a", [-1.0, 0.0], &[1]).vectors;
    let moved = pb::UpdatePointVectors {
        points: vec![pb::PointVectors { id: Some(1.into()), vectors }],
        collection_name: c(),
        ..Default::default()
    };
    house.points.update_vectors(moved).await.unwrap();
    assert_eq!(house.query(nearest([1.0, 0.0])).await, [(2, 0.0), (1, -1.0)]);
    let without = pb::DeletePointVectors {
        points_selector: ids(&[1]),
        vectors: Some(pb::VectorsSelector { names: vec!["d".into()] }),
        collection_name: c(),
        ..Default::default()
    };
    house.points.delete_vectors(without).await.unwrap();
    assert_eq!(house.query(nearest([1.0, 0.0])).await, [(2, 0.0)]);
    house
        .points
        .delete(pb::DeletePoints { points: ids(&[1]), collection_name: c(), ..Default::default() })
        .await
        .unwrap();
    assert_eq!(house.count(None).await, 1);
}

#[tokio::test]
async fn a_batch_is_done_in_order_and_a_query_batch_answers_each() {
    use pb::points_update_operation::{DeletePoints, Operation, PointStructList};
    let mut house = House::with_collection().await;
    let list = |points| Operation::Upsert(PointStructList { points, ..Default::default() });
    let operations = [
        list(vec![point(1, "a", [1.0, 0.0], &[1]), point(2, "b", [0.5, 0.0], &[1])]),
        Operation::DeletePoints(DeletePoints { points: ids(&[1]), ..Default::default() }),
        list(vec![point(3, "a", [0.25, 0.0], &[1])]),
    ];
    let operations = operations.map(|operation| pb::PointsUpdateOperation { operation: Some(operation) });
    let batch = pb::UpdateBatchPoints {
        operations: operations.to_vec(),
        wait: Some(true),
        collection_name: "c".into(),
        ..Default::default()
    };
    let done = house.points.update_batch(batch).await.unwrap().into_inner().result;
    assert_eq!(done.iter().map(pb::UpdateResult::status).collect::<Vec<_>>(), [pb::UpdateStatus::Completed; 3]);
    let queries = vec![nearest([1.0, 0.0]), pb::QueryPoints { filter: Some(of("a")), ..nearest([1.0, 0.0]) }];
    let batch = pb::QueryBatchPoints { query_points: queries, collection_name: "c".into(), ..Default::default() };
    let answers = house.points.query_batch(batch).await.unwrap().into_inner().result;
    let ids = answers.iter().map(|answer| answer.result.iter().map(|point| crate::number(point.id.as_ref())).collect());
    assert_eq!(ids.collect::<Vec<Vec<_>>>(), [vec![2, 3], vec![3]]);
}

#[tokio::test]
async fn a_collection_is_what_it_was_made_as_until_it_is_deleted() {
    let mut house = House::with_collection().await;
    let again = house.collections.create(collection()).await.unwrap_err();
    assert_eq!(again.code(), Code::AlreadyExists);
    let keyword = pb::KeywordIndexParams { is_tenant: Some(true), ..Default::default() };
    let index = pb::CreateFieldIndexCollection {
        field_name: "tenant".into(),
        field_index_params: Some(IndexParams::KeywordIndexParams(keyword).into()),
        wait: Some(true),
        collection_name: "c".into(),
        ..Default::default()
    };
    house.points.create_field_index(index).await.unwrap();
    let metadata = [("realm".to_owned(), "r".into())];
    let update = pb::UpdateCollection { metadata: metadata.into(), collection_name: "c".into(), ..Default::default() };
    house.collections.update(update).await.unwrap();
    house.upsert(vec![point(1, "a", [1.0, 0.0], &[]), point(2, "b", [1.0, 0.0], &[])], None).await;
    let name = || pb::GetCollectionInfoRequest { collection_name: "c".into() };
    let info = house.collections.get(name()).await.unwrap().into_inner().result.unwrap();
    assert_eq!((info.points_count, info.status()), (Some(2), pb::CollectionStatus::Green));
    let config = info.config.unwrap();
    assert_eq!(config.metadata["realm"], "r".into());
    let (made, params) = (collection(), config.params.unwrap());
    assert_eq!(
        (params.vectors_config, params.sparse_vectors_config),
        (made.vectors_config, made.sparse_vectors_config)
    );
    let schema = &info.payload_schema["tenant"];
    assert_eq!(schema.data_type(), pb::PayloadSchemaType::Keyword);
    assert!(format!("{:?}", schema.params).contains("is_tenant: Some(true)"), "{schema:?}");

    let facet = |key: &str| pb::FacetCounts { key: key.into(), collection_name: "c".into(), ..Default::default() };
    let hits = house.points.facet(facet("tenant")).await.unwrap().into_inner().hits;
    assert_eq!(hits.iter().map(|hit| hit.count).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(house.points.facet(facet("text")).await.unwrap_err().code(), Code::InvalidArgument, "no index");
    let unindex = pb::DeleteFieldIndexCollection {
        field_name: "tenant".into(),
        collection_name: "c".into(),
        ..Default::default()
    };
    house.points.delete_field_index(unindex).await.unwrap();
    assert_eq!(house.points.facet(facet("tenant")).await.unwrap_err().code(), Code::InvalidArgument);

    let exists = || pb::CollectionExistsRequest { collection_name: "c".into() };
    for there in [true, false] {
        let answer = house.collections.collection_exists(exists()).await.unwrap().into_inner();
        assert_eq!(answer.result.unwrap().exists, there);
        let list = house.collections.list(pb::ListCollectionsRequest {}).await.unwrap().into_inner().collections;
        assert_eq!(list.len(), usize::from(there));
        let delete = pb::DeleteCollection { collection_name: "c".into(), timeout: None };
        assert_eq!(house.collections.delete(delete).await.unwrap().into_inner().result, there);
    }
    assert_eq!(house.collections.get(name()).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(house.points.upsert(upsert()).await.unwrap_err().code(), Code::NotFound, "nothing is made by a write");
}

#[tokio::test]
async fn a_scroll_goes_on_where_it_says() {
    let mut house = House::with_collection().await;
    house.upsert((1..=5).map(|id| point(id, "a", [1.0, 0.0], &[])).collect(), None).await;
    let (mut offset, mut pages) = (None, Vec::new());
    loop {
        let scroll = pb::ScrollPoints { offset, limit: Some(2), collection_name: "c".into(), ..Default::default() };
        let page = house.points.scroll(scroll).await.unwrap().into_inner();
        pages.push(page.result.iter().map(|point| crate::number(point.id.as_ref())).collect::<Vec<_>>());
        offset = page.next_page_offset;
        if offset.is_none() {
            break;
        }
    }
    assert_eq!(pages, [vec![1, 2], vec![3, 4], vec![5]]);
    let none = pb::ScrollPoints { limit: Some(0), collection_name: "c".into(), ..Default::default() };
    assert_eq!(house.points.scroll(none).await.unwrap_err().code(), Code::InvalidArgument);
}

/// `search_batch` is `SearchBatch` on the wire.
fn camel(method: &str) -> String {
    let words = method.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
    words.collect()
}
