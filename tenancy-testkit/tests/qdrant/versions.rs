//! An older server drops what it does not know, and nobody is told.

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::qdrant_client::QdrantClient;

use crate::{House, nearest, of, point, terms};

#[tokio::test]
async fn the_version_is_the_one_that_was_set() {
    let house = House::empty().await;
    let mut health = QdrantClient::connect(house.server.url()).await.unwrap();
    for version in ["1.19.0", "1.15.3", "2.0.0-dev"] {
        house.server.set_version(version);
        let reply = health.health_check(pb::HealthCheckRequest {}).await.unwrap().into_inner();
        assert_eq!(reply.version, version);
    }
}

#[tokio::test]
async fn a_filter_on_an_update_came_with_1_16() {
    for (version, left) in [("1.16.0", "a-1"), ("1.15.9", "b-1")] {
        let mut house = House::with_collection().await;
        house.server.set_version(version);
        house.upsert(vec![point(1, "a", [1.0, 0.0], &[])], None).await;
        house.upsert(vec![point(1, "b", [1.0, 0.0], &[])], Some(of("b"))).await;
        assert_eq!(house.text_of(1).await.as_deref(), Some(left), "{version}");
        let kept = house.server.messages::<pb::UpsertPoints>();
        assert!(kept[1].update_filter.is_some(), "what is kept is what was sent");
    }
}

#[tokio::test]
async fn a_mode_of_an_update_came_with_1_17() {
    for (version, count) in [("1.17.0", 0), ("1.16.3", 1)] {
        let mut house = House::with_collection().await;
        house.server.set_version(version);
        let update_mode = Some(pb::UpdateMode::UpdateOnly.into());
        let upsert = pb::UpsertPoints { points: vec![point(1, "a", [1.0, 0.0], &[])], update_mode, ..crate::upsert() };
        house.points.upsert(upsert).await.unwrap();
        assert_eq!(house.count(None).await, count, "{version}");
    }
}

#[tokio::test]
async fn a_corpus_came_with_1_19_also_in_a_prefetch() {
    let mut scores = Vec::new();
    for version in ["1.19.0", "1.18.4"] {
        let mut house = House::with_collection().await;
        house.server.set_version(version);
        house.upsert(vec![point(1, "a", [1.0, 0.0], &[7]), point(2, "a", [1.0, 0.0], &[8])], None).await;
        house.upsert((10..60).map(|id| point(id, "b", [0.0, 0.0], &[7])).collect(), None).await;
        let arm = terms(&[7], Some(of("a")));
        let root = pb::QueryPoints { filter: Some(of("a")), ..arm.clone() };
        // A threshold that only the weight over a's own points passes.
        let prefetch = pb::PrefetchQuery {
            query: arm.query,
            using: arm.using,
            params: arm.params,
            score_threshold: Some(0.5),
            ..Default::default()
        };
        let nested = pb::QueryPoints { prefetch: vec![prefetch], filter: Some(of("a")), ..nearest([1.0, 0.0]) };
        scores.push((house.query(root).await[0].1, house.query(nested).await.len()));
    }
    assert!(scores[0].0 > 0.5 && scores[1].0 < 0.5, "{scores:?}");
    assert_eq!((scores[0].1, scores[1].1), (1, 0));
}

#[tokio::test]
async fn a_kind_of_query_that_came_later_is_none() {
    let rrf = pb::Query { variant: Some(pb::query::Variant::Rrf(pb::Rrf { k: Some(1), weights: vec![] })) };
    let arm = nearest([1.0, 0.0]);
    let prefetch = pb::PrefetchQuery { query: arm.query, using: arm.using, ..Default::default() };
    let query = pb::QueryPoints {
        prefetch: vec![prefetch],
        query: Some(rrf),
        collection_name: "c".into(),
        ..Default::default()
    };
    let mut house = House::with_collection().await;
    house.upsert(vec![point(1, "a", [1.0, 0.0], &[])], None).await;
    assert_eq!(house.query(query.clone()).await.len(), 1);
    house.server.set_version("1.15.0");
    assert_eq!(house.points.query(query).await.unwrap_err().code(), tonic::Code::InvalidArgument);
}
