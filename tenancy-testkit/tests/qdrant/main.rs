//! The Qdrant of the tests: it answers what the engine answers, leaks where a server would leak, and says no to the rest.
#![expect(clippy::unwrap_used, reason = "tests")]

mod equal;
mod faults;
mod isolation;
mod served;
mod shards;
mod versions;

use std::collections::HashMap;

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::collections_client::CollectionsClient;
use qdrant_client::qdrant::points_client::PointsClient;
use qdrant_client::qdrant::{Condition, Filter};
use tenancy_testkit::QdrantServer;
use tonic::transport::Channel;

/// A server with a client of each service.
struct House {
    server: QdrantServer,
    points: PointsClient<Channel>,
    collections: CollectionsClient<Channel>,
}

impl House {
    /// With nothing in it.
    async fn empty() -> Self {
        let server = QdrantServer::start().await;
        let points = PointsClient::connect(server.url()).await.unwrap();
        let collections = CollectionsClient::connect(server.url()).await.unwrap();
        Self { server, points, collections }
    }

    /// With the collection `c`: the dense vector `d` of two numbers and the weighed sparse vector `s`.
    async fn with_collection() -> Self {
        let mut house = Self::empty().await;
        house.collections.create(collection()).await.unwrap();
        house
    }

    async fn upsert(&mut self, points: Vec<pb::PointStruct>, update_filter: Option<Filter>) {
        let request = pb::UpsertPoints { points, update_filter, wait: Some(true), ..upsert() };
        let answer = self.points.upsert(request).await.unwrap().into_inner();
        assert_eq!(answer.result.unwrap().status(), pb::UpdateStatus::Completed);
    }

    async fn count(&mut self, filter: Option<Filter>) -> u64 {
        let request = pb::CountPoints { filter, exact: Some(true), collection_name: "c".into(), ..Default::default() };
        self.points.count(request).await.unwrap().into_inner().result.unwrap().count
    }

    /// The answers as (id, score).
    async fn query(&mut self, query: pb::QueryPoints) -> Vec<(u64, f32)> {
        let answers = self.points.query(query).await.unwrap().into_inner().result;
        answers.into_iter().map(|point| (number(point.id.as_ref()), point.score)).collect()
    }

    async fn text_of(&mut self, id: u64) -> Option<String> {
        let get = pb::GetPoints { ids: vec![id.into()], collection_name: "c".into(), ..Default::default() };
        let point = self.points.get(get).await.unwrap().into_inner().result.into_iter().next()?;
        point.payload.get("text")?.as_str().cloned()
    }
}

fn collection() -> pb::CreateCollection {
    let dense = pb::VectorParams { size: 2, distance: pb::Distance::Dot.into(), ..Default::default() };
    let sparse = pb::SparseVectorParams { modifier: Some(pb::Modifier::Idf.into()), ..Default::default() };
    pb::CreateCollection {
        collection_name: "c".into(),
        vectors_config: Some(pb::VectorsConfig {
            config: Some(pb::vectors_config::Config::ParamsMap(pb::VectorParamsMap {
                map: HashMap::from([("d".into(), dense)]),
            })),
        }),
        sparse_vectors_config: Some(pb::SparseVectorConfig { map: HashMap::from([("s".into(), sparse)]) }),
        ..Default::default()
    }
}

fn upsert() -> pb::UpsertPoints {
    pb::UpsertPoints { collection_name: "c".into(), ..Default::default() }
}

/// A point of a tenant, with both vectors.
fn point(id: u64, tenant: &str, dense: [f32; 2], terms: &[u32]) -> pb::PointStruct {
    let sparse = pb::SparseVector { indices: terms.to_vec(), values: vec![1.0; terms.len()] };
    let vectors = [
        ("d", pb::vector::Vector::Dense(pb::DenseVector { data: dense.to_vec() })),
        ("s", pb::vector::Vector::Sparse(sparse)),
    ];
    let vectors = vectors
        .into_iter()
        .map(|(name, vector)| (name.to_owned(), pb::Vector { vector: Some(vector), ..Default::default() }));
    pb::PointStruct {
        id: Some(id.into()),
        payload: HashMap::from([("tenant".into(), tenant.into()), ("text".into(), format!("{tenant}-{id}").into())]),
        vectors: Some(pb::Vectors {
            vectors_options: Some(pb::vectors::VectorsOptions::Vectors(pb::NamedVectors {
                vectors: vectors.collect(),
            })),
        }),
    }
}

fn of(tenant: &str) -> Filter {
    Filter::must([Condition::matches("tenant", tenant.to_owned())])
}

fn nearest(dense: [f32; 2]) -> pb::QueryPoints {
    let input = pb::vector_input::Variant::Dense(pb::DenseVector { data: dense.to_vec() });
    pb::QueryPoints {
        query: Some(asking(input)),
        using: Some("d".into()),
        collection_name: "c".into(),
        ..Default::default()
    }
}

fn terms(indices: &[u32], corpus: Option<Filter>) -> pb::QueryPoints {
    let sparse = pb::SparseVector { indices: indices.to_vec(), values: vec![1.0; indices.len()] };
    let idf = corpus.map(|corpus| pb::IdfParams { corpus: Some(corpus) });
    pb::QueryPoints {
        query: Some(asking(pb::vector_input::Variant::Sparse(sparse))),
        using: Some("s".into()),
        params: Some(pb::SearchParams { idf, ..Default::default() }),
        collection_name: "c".into(),
        ..Default::default()
    }
}

fn asking(input: pb::vector_input::Variant) -> pb::Query {
    let input = pb::VectorInput { variant: Some(input) };
    pb::Query { variant: Some(pb::query::Variant::Nearest(input)) }
}

fn ids(ids: &[u64]) -> Option<pb::PointsSelector> {
    let ids = ids.iter().map(|id| (*id).into()).collect();
    Some(pb::PointsSelector {
        points_selector_one_of: Some(pb::points_selector::PointsSelectorOneOf::Points(pb::PointsIdsList { ids })),
    })
}

fn number(id: Option<&pb::PointId>) -> u64 {
    match id.and_then(|id| id.point_id_options.as_ref()) {
        Some(pb::point_id::PointIdOptions::Num(number)) => *number,
        other => panic!("not a number: {other:?}"),
    }
}
