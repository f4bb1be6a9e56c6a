//! A collection of all tenants on a server: ours, and the requests that one would write by hand.

use std::collections::{HashMap, HashSet};

use qdrant_client::qdrant::{
    Condition, Filter, IdfParams, NamedVectors, PointStruct, PrefetchQueryBuilder, Query, QueryPointsBuilder,
    RrfBuilder, ScoredPoint, SearchParams, Vector, VectorInput, value,
};
use qdrant_client::qdrant::{Struct, Value};
use qdrant_client::{Payload, Qdrant};
use tenancy_testkit::TestTenants;
use tenancy_vector::qdrant::{CollectionName, QdrantBackend, QdrantLayout, QdrantOptions};
use tenancy_vector::{Hit, Schema, VectorStore};

use crate::data::{Corpus, Question};

/// The store on a collection that is not there yet.
pub(crate) async fn store(url: &str, tenants: &TestTenants, collection: &str, schema: Schema) -> VectorStore {
    let layout = QdrantLayout::Shared { collection: CollectionName::parse(collection).unwrap() };
    VectorStore::new(tenants.realm(), backend(url, layout, &schema).await, schema)
}

pub(crate) async fn backend(url: &str, layout: QdrantLayout, schema: &Schema) -> QdrantBackend {
    let backend = QdrantBackend::connect(QdrantOptions::new(url).unwrap(), layout).await.unwrap();
    backend.ensure_schema(schema).await.unwrap();
    backend
}

/// What the client's own way is.
pub(crate) struct Raw {
    pub(crate) client: Qdrant,
    pub(crate) collection: String,
}

impl Raw {
    pub(crate) fn connect(url: &str, collection: &str) -> Self {
        let client = Qdrant::from_url(url).skip_compatibility_check().build().unwrap();
        Self { client, collection: collection.to_owned() }
    }

    /// The nearest, of one life or of all.
    pub(crate) async fn dense(&self, life: Option<&str>, question: &Question, limit: u64) -> Vec<ScoredPoint> {
        let query = QueryPointsBuilder::new(&self.collection)
            .query(Query::new_nearest(question.dense.clone()))
            .using("dense")
            .limit(limit)
            .with_payload(true);
        let query = match life {
            Some(life) => query.filter(of_life(life)),
            None => query,
        };
        self.client.query(query).await.unwrap().result
    }

    /// By nearness and by words. Terms are weighed over the life, as they have to be.
    pub(crate) async fn hybrid(&self, life: &str, question: &Question, limit: u64) -> Vec<ScoredPoint> {
        let (indices, values) = question.terms.clone();
        let own_terms =
            SearchParams { idf: Some(IdfParams { corpus: Some(of_life(life)) }), ..SearchParams::default() };
        let dense = PrefetchQueryBuilder::default()
            .query(Query::new_nearest(question.dense.clone()))
            .using("dense")
            .filter(of_life(life))
            .limit(ARM);
        let sparse = PrefetchQueryBuilder::default()
            .query(Query::new_nearest(VectorInput::new_sparse(indices, values)))
            .using("sparse")
            .filter(of_life(life))
            .params(own_terms)
            .limit(ARM);
        let query = QueryPointsBuilder::new(&self.collection)
            .add_prefetch(dense)
            .add_prefetch(sparse)
            .query(Query::new_rrf(RrfBuilder::default().k(61)))
            .filter(of_life(life))
            .limit(limit)
            .with_payload(true);
        self.client.query(query).await.unwrap().result
    }
}

/// A point as one would store it by hand: whose it is, and no more.
pub(crate) fn point(corpus: &Corpus, life: &str, chunk: usize) -> PointStruct {
    let (indices, values) = corpus.terms(0, chunk);
    let mut payload = Payload::new();
    for (key, value) in corpus.payload(0, chunk) {
        match value.as_i64() {
            Some(number) => payload.insert(key, number),
            None => payload.insert(key, value.as_str().unwrap()),
        }
    }
    let owner = HashMap::from([("life".to_owned(), life.to_owned().into())]);
    payload.insert("tenancy", Value { kind: Some(value::Kind::StructValue(Struct { fields: owner })) });
    let vectors = NamedVectors::default()
        .add_vector("dense", Vector::new_dense(corpus.vector(0, chunk)))
        .add_vector("sparse", Vector::new_sparse(indices, values));
    PointStruct::new(chunk as u64, vectors, payload)
}

fn of_life(life: &str) -> Filter {
    Filter::must([Condition::matches("tenancy.life", life.to_owned())])
}

/// The external id and the life of an answer.
pub(crate) fn tag(point: &ScoredPoint) -> (String, String) {
    let tag = point.payload["tenancy"].as_struct().unwrap();
    let text = |name: &str| match &tag.fields[name].kind {
        Some(value::Kind::StringValue(text)) => text.clone(),
        other => panic!("no text in the tag: {other:?}"),
    };
    (text("id"), text("life"))
}

/// Ours and the other way must find the same, or their times say nothing. Which of several with the last score are there
/// is the engine's choice.
pub(crate) fn ensure_same(way: &str, ours: &[Hit], theirs: &[(String, f32)]) {
    assert_eq!(ours.len(), theirs.len(), "{way}: as many");
    let last = theirs.last().map_or(f32::MIN, |(_, score)| *score);
    for (hit, (_, score)) in ours.iter().zip(theirs) {
        assert!((hit.score() - score).abs() < 1e-5, "{way}: the same scores");
    }
    let ours: HashSet<_> = ours.iter().filter(|hit| hit.score() > last + 1e-5).map(|hit| hit.id().as_str()).collect();
    let theirs: HashSet<_> =
        theirs.iter().filter(|(_, score)| *score > last + 1e-5).map(|(id, _)| id.as_str()).collect();
    assert_eq!(ours, theirs, "{way}: the same points");
}

/// How many an arm of a hybrid search looks up, in ours as well.
pub(crate) const ARM: u64 = 100;
