//! A model that puts hits in order, and falls over.

use async_trait::async_trait;
use tenancy_core::BoxError;
use tenancy_vector::{Candidates, Reranker};

use crate::house::{House, near};

/// Gives every hit this score.
pub(crate) struct Model {
    score: f32,
}

impl Model {
    pub(crate) const fn of(score: f32) -> Self {
        Self { score }
    }
}

#[async_trait]
impl Reranker for Model {
    async fn score(&self, candidates: Candidates<'_>) -> Result<Vec<f32>, BoxError> {
        assert!(self.score >= 0.0, "a model that falls over");
        Ok(vec![self.score; candidates.hits().len()])
    }
}

/// A re-ranker that falls over takes the call with it, and nothing else.
#[tokio::test]
async fn a_model_that_falls_over_leaves_a_record() {
    let house = House::plain().await;
    let acme = house.acme.clone();
    let fallen = tokio::spawn(async move { acme.query_reranked(&near(), "", &Model::of(-1.0), 3).await }).await;
    assert!(fallen.unwrap_err().is_panic());
    let records = house.tenants.audit().await;
    let cancelled = |r: &&tenancy_core::AuditRecord| r.action() == "vectors.query_reranked";
    let outcomes: Vec<_> = records.iter().filter(cancelled).map(tenancy_core::AuditRecord::outcome).collect();
    assert_eq!(outcomes, [tenancy_core::Outcome::Cancelled]);
    for score in [0.0, f32::MAX, f32::MIN_POSITIVE] {
        let hits = house.acme.query_reranked(&near(), "", &Model::of(score), 2).await.unwrap();
        let ids: Vec<_> = hits.iter().map(|hit| hit.id().as_str()).collect();
        assert_eq!(ids, ["doc:0", "doc:1"], "all alike: by id");
    }
}
