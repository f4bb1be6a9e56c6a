//! The cases on the plain back end.

mod cases;

use tenancy_testkit::TestTenants;
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::{
    DenseVector, Distance, Example, Point, Schema, VectorError, VectorKind, VectorName, VectorQuery, VectorStore,
};

async fn start() -> (TestTenants, VectorStore) {
    let tenants = cases::MORE_TENANTS.into_iter().fold(TestTenants::builder(), |b, name| b.tenant(name)).build().await;
    let store = VectorStore::new(tenants.realm(), ReferenceBackend::new(), cases::schema());
    (tenants, store)
}

#[tokio::test]
async fn v3_ids_do_not_collide() {
    let (tenants, store) = start().await;
    cases::ids_do_not_collide(&tenants, &store).await;
    cases::spellings_stay_apart(&tenants, &store).await;
}

#[tokio::test]
async fn v4_lists_of_ids_reach_ones_own() {
    let (tenants, store) = start().await;
    cases::lists_of_ids_reach_ones_own(&tenants, &store).await;
}

#[tokio::test]
async fn v5_payloads_bring_no_tag() {
    let (tenants, store) = start().await;
    cases::payloads_bring_no_tag(&tenants, &store).await;
}

#[tokio::test]
async fn v7_filters_only_narrow() {
    let (tenants, store) = start().await;
    cases::filters_only_narrow(&tenants, &store).await;
}

#[tokio::test]
async fn v14_wrong_calls_write_nothing() {
    let (tenants, store) = start().await;
    cases::wrong_calls_write_nothing(&tenants, &store).await;
}

#[tokio::test]
async fn v14_a_store_without_a_sparse_vector_refuses_one() {
    let tenants = TestTenants::new().await;
    let store = VectorStore::new(tenants.realm(), ReferenceBackend::new(), Schema::dense(4).unwrap());
    let mine = cases::of(&tenants, &store, "acme").await;
    let sparse = mine.upsert(vec![cases::point("A1", 0.1, "a")]).await;
    assert!(matches!(sparse, Err(VectorError::UnknownVector(_))));
    for query in [cases::near(), VectorQuery::sparse(cases::terms(&[7])).unwrap()] {
        assert!(matches!(mine.query(&query).await, Err(VectorError::UnknownVector(_))));
    }
    let none = tenancy_vector::SparseVector::empty();
    let plain = Point::hybrid(cases::id("A1"), vec![1.0; 4], none, serde_json::Map::new()).unwrap();
    mine.upsert(vec![plain]).await.unwrap();
    assert_eq!(mine.query(&VectorQuery::dense(vec![1.0; 4]).unwrap()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_partition_of_another_schema_is_refused() {
    let tenants = TestTenants::new().await;
    let backend = ReferenceBackend::new();
    let context = tenants.context("acme").await;
    let of = |dimension| {
        let schema = Schema::hybrid(dimension).unwrap();
        VectorStore::new(tenants.realm(), backend.clone(), schema).scoped(&context).unwrap()
    };
    of(4).upsert(vec![cases::point("A1", 0.1, "a")]).await.unwrap();
    let other = Point::hybrid(cases::id("A2"), vec![1.0; 5], cases::terms(&[7]), serde_json::Map::new()).unwrap();
    assert!(matches!(of(5).upsert(vec![other]).await, Err(VectorError::Unfit(_))));
}

/// A product with nothing but zeros may have a sign, which says nothing about which example is nearer.
#[tokio::test]
async fn a_point_between_two_examples_is_on_neither_side() {
    let tenants = TestTenants::new().await;
    let dot = VectorName::parse("dot").unwrap();
    let kind = VectorKind::Dense { dimension: 2, distance: Distance::Dot };
    let schema = Schema::new().with(dot.clone(), kind).unwrap();
    let store = VectorStore::new(tenants.realm(), ReferenceBackend::new(), schema);
    let mine = cases::of(&tenants, &store, "acme").await;
    let vector = |values: [f32; 2]| DenseVector::new(values.to_vec()).unwrap();
    let point = Point::new(cases::id("zero"), serde_json::Map::new()).unwrap().with(dot.clone(), vector([0.0, 0.0]));
    mine.upsert(vec![point]).await.unwrap();
    let example = |values| Example::Input(vector(values).into());
    let pair = (example([-1.0, -1.0]), example([1.0, 1.0]));
    let hits = mine.query(&VectorQuery::discover(dot, example([1.0, 0.0]), [pair])).await.unwrap();
    assert_eq!(hits[0].score(), 0.5);
}
