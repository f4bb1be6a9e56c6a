//! Hits in the order of a model.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]

#[expect(dead_code, reason = "the other cases have tests of their own")]
mod cases;

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use tenancy_core::{BoxError, Denial, Life};
use tenancy_testkit::TestTenants;
use tenancy_vector::conformance::ReferenceBackend;
use tenancy_vector::{Candidates, Filter, Hit, PayloadKey, Reranker, VectorError, VectorQuery, VectorStore};

type Scores = fn(&[Hit]) -> Result<Vec<f32>, BoxError>;

/// What it was asked, and what it answers.
struct Model {
    seen: Mutex<Vec<(Life, String, Vec<String>)>>,
    scores: Scores,
    takes: Duration,
}

impl Model {
    fn new(scores: Scores) -> Self {
        Self { seen: Mutex::default(), scores, takes: Duration::ZERO }
    }
}

#[async_trait]
impl Reranker for Model {
    async fn score(&self, candidates: Candidates<'_>) -> Result<Vec<f32>, BoxError> {
        let ids = candidates.hits().iter().map(|hit| hit.id().as_str().to_owned()).collect();
        let question = candidates.question().to_owned();
        self.seen.lock().unwrap().push((candidates.context().life(), question, ids));
        tokio::time::sleep(self.takes).await;
        (self.scores)(candidates.hits())
    }
}

async fn start() -> (TestTenants, VectorStore) {
    let tenants = TestTenants::new().await;
    let store = VectorStore::new(tenants.realm(), ReferenceBackend::new(), cases::schema());
    let (mine, theirs) = (cases::of(&tenants, &store, "acme").await, cases::of(&tenants, &store, "globex").await);
    mine.upsert((0..6).map(|n| cases::point(&format!("A{n}"), 0.9 - 0.1 * n as f32, "a")).collect()).await.unwrap();
    theirs.upsert((0..6).map(|n| cases::point(&format!("B{n}"), 1.0, "b")).collect()).await.unwrap();
    (tenants, store)
}

fn ids(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.id().as_str()).collect()
}

#[tokio::test]
async fn the_model_sees_ones_own_and_decides() {
    let (tenants, store) = start().await;
    let mine = cases::of(&tenants, &store, "acme").await;
    let last_first = Model::new(|hits| Ok((0..hits.len()).map(|n| n as f32).collect()));
    let five = cases::near().limit(5).unwrap();
    let found = mine.query_reranked(&five, "which?", &last_first, 3).await.unwrap();
    assert_eq!(ids(&found), ["A4", "A3", "A2"], "of the five nearest");
    assert_eq!(found.iter().map(Hit::score).collect::<Vec<_>>(), [4.0, 3.0, 2.0], "the model's scores");
    let seen = last_first.seen.lock().unwrap().clone();
    let wanted = ["A0", "A1", "A2", "A3", "A4"].map(str::to_owned).to_vec();
    assert_eq!(seen, [(tenants.life("acme"), "which?".to_owned(), wanted)]);

    let indifferent = Model::new(|hits| Ok(vec![0.5; hits.len()]));
    let found = mine.query_reranked(&cases::near(), "", &indifferent, 100).await.unwrap();
    assert_eq!(ids(&found), ["A0", "A1", "A2", "A3", "A4", "A5"], "ties by id");

    let nobody = cases::near().filter(Filter::Equals(PayloadKey::parse("owner").unwrap(), "b".into())).unwrap();
    let unasked = Model::new(|_| Err("asked about nothing".into()));
    assert!(mine.query_reranked(&nobody, "", &unasked, 3).await.unwrap().is_empty());
    assert!(unasked.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_model_that_scores_badly_is_an_error() {
    let (tenants, store) = start().await;
    let mine = cases::of(&tenants, &store, "acme").await;
    let bad: [(&str, Scores); 6] = [
        ("no score", |_| Ok(vec![])),
        ("one too few", |hits| Ok(vec![1.0; hits.len() - 1])),
        ("one too many", |hits| Ok(vec![1.0; hits.len() + 1])),
        ("not a number", |hits| Ok(vec![f32::NAN; hits.len()])),
        ("infinite", |hits| Ok(vec![f32::INFINITY; hits.len()])),
        ("it fails, and says too much", |_| Err("globex's document".into())),
    ];
    for (mechanism, scores) in bad {
        let failed = mine.query_reranked(&cases::near(), "", &Model::new(scores), 3).await.unwrap_err();
        assert!(matches!(failed, VectorError::Reranker(_)), "{mechanism}");
        let mut shown = format!("{failed} {failed:?}");
        shown += &std::error::Error::source(&failed).map(ToString::to_string).unwrap_or_default();
        assert!(!shown.contains("globex"), "{shown}");
    }
    let plain = Model::new(|hits| Ok(vec![1.0; hits.len()]));
    for keep in [0, VectorQuery::MAX_LIMIT + 1] {
        let refused = mine.query_reranked(&cases::near(), "", &plain, keep).await;
        assert!(matches!(refused, Err(VectorError::BadLimit { .. })));
    }
}

/// A model takes its time. What a tenant that is gone by then would have got is not handed out.
#[tokio::test]
async fn a_tenant_that_is_gone_meanwhile_gets_nothing() {
    let (tenants, store) = start().await;
    let mine = cases::of(&tenants, &store, "acme").await;
    let slow = Model { takes: Duration::from_millis(200), ..Model::new(|hits| Ok(vec![1.0; hits.len()])) };
    let near = cases::near();
    let asked = mine.query_reranked(&near, "", &slow, 3);
    let (found, ()) = tokio::join!(asked, async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        tenants.suspend("acme");
    });
    assert!(matches!(found, Err(VectorError::Denied(Denial::TenantSuspended))), "{found:?}");
    assert_eq!(slow.seen.lock().unwrap().len(), 1);
    assert_eq!(cases::denied(&tenants, "acme", "tenant.suspended").await, 1);
}
