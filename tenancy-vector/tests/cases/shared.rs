//! A corpus that all tenants read, beside what each has of its own: cases for every back end that can hold one.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tenancy_core::{CorpusName, Credential, CrossTenantGrant, Denial, Outcome, Reach, StoreVerdict};
use tenancy_testkit::TestTenants;
use tenancy_vector::{
    Change, Filter, FilterValue, Fusion, GroupBy, Hit, Origin, PayloadKey, Point, Recommend, Scroll, Select,
    SharedVectors, VectorBackend, VectorError, VectorName, VectorQuery, VectorStore, conformance,
};

use crate::cases;

const REASON: &str = "the new edition of the handbook";

pub(crate) fn name(text: &str) -> CorpusName {
    CorpusName::parse(text).unwrap()
}

pub(crate) async fn grant(tenants: &TestTenants, reach: Reach) -> CrossTenantGrant {
    let operator = Credential::bearer(tenants.operator_token());
    let minute = Duration::from_secs(60);
    tenants.realm().operators().open(&operator, REASON, "CASE-7", reach, minute).await.unwrap()
}

pub(crate) async fn publish(tenants: &TestTenants, shared: &SharedVectors, points: Vec<Point>) {
    let grant = grant(tenants, Reach::Corpus(shared.corpus().name().clone())).await;
    shared.publish(&grant).await.unwrap().upsert(points).await.unwrap();
}

fn tagged(hits: &[Hit]) -> Vec<(&str, bool)> {
    hits.iter().map(|hit| (hit.id().as_str(), *hit.origin() != Origin::Own)).collect()
}

/// By the dense vector alone: equal scores of terms come in any order.
fn near() -> VectorQuery {
    VectorQuery::dense(vec![1.0, 0.0, 0.0, 0.0]).unwrap().limit(100).unwrap()
}

fn like(id: &str) -> VectorQuery {
    VectorQuery::recommend(VectorName::dense(), Recommend::Average, [cases::id(id).into()], []).unwrap()
}

fn owner() -> PayloadKey {
    PayloadKey::parse("owner").unwrap()
}

/// Every read of the corpus finds its points and no other, for each tenant, and says where they are from.
pub(crate) async fn every_read_is_of_the_corpus(tenants: &TestTenants, own: &VectorStore, shared: &SharedVectors) {
    let points = (0..5).map(|n| cases::point(&format!("S{n}"), 0.5 - 0.1 * n as f32, "everybody")).collect();
    publish(tenants, shared, points).await;
    for (tenant, mine) in [("acme", "A"), ("globex", "B")] {
        let nearer = (0..5).map(|n| cases::point(&format!("{mine}{n}"), 0.99, tenant)).collect();
        cases::of(tenants, own, tenant).await.upsert(nearer).await.unwrap();
    }
    let all = ["S0", "S1", "S2", "S3", "S4"];
    for tenant in ["acme", "globex"] {
        let corpus = shared.scoped(&tenants.context(tenant).await).unwrap();
        let hits = corpus.query(&near()).await.unwrap();
        assert_eq!(tagged(&hits), all.map(|id| (id, true)), "{tenant}");
        assert!(hits.iter().all(|hit| *hit.origin() == Origin::Shared(shared.corpus().name().clone())));
        let alike = like("S4");
        assert_eq!(corpus.query(&alike).await.unwrap()[0].id(), &cases::id("S3"), "an example of its own");
        let foreign = like("A0");
        let refused = corpus.query(&foreign).await.unwrap_err();
        assert!(matches!(refused, VectorError::Denied(Denial::NotVisible)), "not even the tenant's own: {refused}");
        let batch = corpus.query_batch(&[near(), VectorQuery::sample()]).await.unwrap();
        assert_eq!(batch.iter().map(Vec::len).collect::<Vec<_>>(), [5, 5]);
        assert_eq!(corpus.count(None).await.unwrap(), 5);
        let everybody = Filter::Equals(owner(), FilterValue::Text("everybody".to_owned()));
        assert_eq!(corpus.count(Some(&everybody)).await.unwrap(), 5);
        let found = corpus.get(&[cases::id("S1"), cases::id("A1"), cases::id("B1")]).await.unwrap();
        let visible: Vec<_> = found.iter().map(|found| found.point().is_some()).collect();
        assert_eq!(visible, [true, false, false], "{tenant}");
        assert_ne!(found[0].point().unwrap().origin(), &Origin::Own);
        let groups = corpus.query_groups(&near(), &GroupBy::new(owner(), 3, 9).unwrap()).await.unwrap();
        assert_eq!(groups.iter().map(|group| group.hits().len()).collect::<Vec<_>>(), [5]);
        let near = corpus.matrix(&VectorName::dense(), None, 10, 2).await.unwrap();
        assert!(!near.is_empty() && near.iter().all(|near| near.one().as_str().starts_with('S')));
        let page = corpus.scroll(&Scroll::new().limit(3).unwrap(), None).await.unwrap();
        let rest = corpus.scroll(&Scroll::new().limit(3).unwrap(), page.next()).await.unwrap();
        let mut ids: Vec<_> = page.points().iter().chain(rest.points()).map(|p| p.id().as_str()).collect();
        ids.sort_unstable();
        assert_eq!(ids, all);
        let mine = cases::of(tenants, own, tenant).await;
        let cross = mine.scroll(&Scroll::new().limit(3).unwrap(), page.next()).await;
        assert!(matches!(cross, Err(VectorError::Denied(_))), "a cursor of the corpus is none of the tenant's list");
    }
}

/// The same external id, own and shared, is two points; a list of both keeps them apart.
pub(crate) async fn one_id_is_two_points(tenants: &TestTenants, own: &VectorStore, shared: &SharedVectors) {
    let before = changes(tenants).await;
    let mine = cases::of(tenants, own, "acme").await;
    mine.change(vec![Change::Delete(Select::All)]).await.unwrap();
    let both = [("doc-1", 0.5), ("doc-2", 0.4)];
    mine.upsert(both.iter().map(|(id, close)| cases::point(id, *close, "acme")).collect()).await.unwrap();
    publish(tenants, shared, both.iter().map(|(id, close)| cases::point(id, *close, "everybody")).collect()).await;
    let together = async |limit| {
        let query = near().limit(limit).unwrap();
        mine.query_with(&query, &[(shared, &query)], &Fusion::ranks()).await.unwrap()
    };
    let hits = together(9).await;
    assert_eq!(tagged(&hits), [("doc-1", false), ("doc-1", true), ("doc-2", false), ("doc-2", true)]);
    assert_eq!(hits[0].payload()["owner"], "acme");
    assert_eq!(hits[1].payload()["owner"], "everybody");
    assert_eq!(tagged(&together(3).await).len(), 3);
    let weights = Fusion::weighted(vec![1.0]).unwrap();
    let refused = mine.query_with(&near(), &[(shared, &near())], &weights).await.unwrap_err();
    assert!(matches!(refused, VectorError::NoArm), "a weight too few: {refused}");
    assert_eq!(mine.delete(&[cases::id("doc-1")]).await.unwrap().removed(), 1);
    assert_eq!(
        tagged(&together(9).await),
        [("doc-2", false), ("doc-1", true), ("doc-2", true)],
        "a tenant deletes its own"
    );
    let editor = grant(tenants, Reach::Corpus(shared.corpus().name().clone())).await;
    let writer = shared.publish(&editor).await.unwrap();
    writer.change(vec![Change::Delete(Select::All)]).await.unwrap();
    assert_eq!(tagged(&together(9).await), [("doc-2", false)], "and an operator the corpus'");
    writer.change(vec![]).await.unwrap();
    let wrong = Point::hybrid(cases::id("x"), vec![1.0], cases::terms(&[1]), cases::object(json!({}))).unwrap();
    assert!(matches!(writer.upsert(vec![wrong]).await, Err(VectorError::WrongDimension { .. })));
    let (changed, failed) = changes(tenants).await;
    assert_eq!((changed - before.0, failed - before.1), (2, 0), "each change is on record, one without any is none");
}

/// How many changes of corpora are on record, and failed ones; for everybody to see.
async fn changes(tenants: &TestTenants) -> (usize, usize) {
    let records = tenants.audit().await;
    assert!(records.iter().filter(|r| r.action().starts_with("corpus.")).all(|r| r.everyone()));
    let of = |outcome| records.iter().filter(|r| r.action() == "corpus.change" && r.outcome() == outcome).count();
    (of(Outcome::Changed), of(Outcome::Failed))
}

/// All that the conformance suite asks of a back end of corpora.
pub(crate) async fn it_conforms(tenants: &TestTenants, backend: impl VectorBackend) {
    let (backend, name): (Arc<dyn VectorBackend>, _) = (Arc::new(backend), name("conformance"));
    let grant = grant(tenants, Reach::Corpus(name.clone())).await;
    let context = tenants.context("acme").await;
    conformance::shared_corpus(tenants.realm(), &backend, &name, &grant, &context).await.unwrap();
}

/// What is erased is gone for everybody and for good, with a record that every tenant lists; another corpus and a tenant's own
/// points stay.
pub(crate) async fn an_erased_corpus_takes_nothing_along(
    tenants: &TestTenants,
    own: &VectorStore,
    shared: &SharedVectors,
    other: &SharedVectors,
) {
    let mine = cases::of(tenants, own, "acme").await;
    mine.change(vec![Change::Delete(Select::All)]).await.unwrap();
    mine.upsert(vec![cases::point("doc-1", 0.9, "acme")]).await.unwrap();
    for corpus in [shared, other] {
        publish(tenants, corpus, vec![cases::point("doc-1", 0.5, "everybody")]).await;
    }
    let together = async || {
        let hits = mine.query_with(&near(), &[(shared, &near()), (other, &near())], &Fusion::ranks()).await;
        hits.map(|hits| hits.len())
    };
    assert_eq!(together().await.unwrap(), 3, "positive control");
    let grant = grant(tenants, Reach::Corpus(shared.corpus().name().clone())).await;
    let writer = shared.publish(&grant).await.unwrap();
    for _again in 0..2 {
        let verdict = writer.erase().await.unwrap();
        assert!(matches!(verdict, StoreVerdict::Verified | StoreVerdict::LogicalOnly), "{verdict:?}");
    }
    // A back end that knows of the end says so, and another finds nothing.
    assert!(matches!(together().await, Ok(2) | Err(VectorError::CorpusErased)));
    for tenant in ["acme", "globex"] {
        let read = shared.scoped(&tenants.context(tenant).await).unwrap();
        assert!(matches!(read.count(None).await, Ok(0) | Err(VectorError::CorpusErased)), "{tenant}");
        for gone in
            [read.query(&near()).await.map(|hits| hits.len()), read.facet(&owner(), None, 9).await.map(|all| all.len())]
        {
            assert!(
                matches!(gone, Ok(0) | Err(VectorError::CorpusErased | VectorError::NotIndexed(_))),
                "{tenant}: {gone:?}"
            );
        }
        match read.get(&[cases::id("doc-1")]).await {
            Ok(found) => assert!(found[0].point().is_none(), "{tenant}"),
            Err(error) => assert!(matches!(error, VectorError::CorpusErased), "{tenant}: {error}"),
        }
        assert_eq!(other.scoped(&tenants.context(tenant).await).unwrap().count(None).await.unwrap(), 1, "{tenant}");
    }
    let late = writer.upsert(vec![cases::point("doc-1", 0.5, "late")]).await.unwrap_err();
    assert!(matches!(late, VectorError::CorpusErased), "{late}");
    let records = tenants.audit().await;
    let erased: Vec<_> = records.iter().filter(|record| record.action() == "corpus.erase").collect();
    assert_eq!(erased.len(), 2);
    assert!(erased.iter().all(|record| record.everyone() && record.outcome() == Outcome::Changed));
}
