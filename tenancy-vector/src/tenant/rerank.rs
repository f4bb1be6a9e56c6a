//! Hits put in order by a model, which sees none but those that were checked.

use std::fmt;

use async_trait::async_trait;
use tenancy_core::{BoxError, Denial, Entered, Redacted, TenantContext};

use super::{Vectors, end};
use crate::error::VectorError;
use crate::point::Hit;
use crate::query::VectorQuery;

/// A model that says how well a hit answers a question, such as a cross-encoder behind a service. Implemented by users.
///
/// It is called by [`query_reranked`](super::Vectors::query_reranked) only, with hits that were checked a moment before to
/// be of the points that were meant. One handle serves all tenants; what it keeps, in a cache say, it keeps by [`Candidates::context`].
#[async_trait]
pub trait Reranker: Send + Sync + 'static {
    /// One score for each hit, in their order; higher is better. Dropped when the caller is, or its time is over.
    ///
    /// # Errors
    /// Whatever stands in the way. It is kept redacted.
    async fn score(&self, candidates: Candidates<'_>) -> Result<Vec<f32>, BoxError>;
}

/// What a re-ranker is to judge. Made by this crate only.
pub struct Candidates<'a> {
    entered: &'a Entered<'a>,
    question: &'a str,
    hits: &'a [Hit],
}

impl Candidates<'_> {
    /// Whose hits they are.
    #[must_use]
    pub fn context(&self) -> &TenantContext {
        self.entered.context()
    }

    /// The question, in the user's words.
    #[must_use]
    pub const fn question(&self) -> &str {
        self.question
    }

    /// The hits, none twice.
    #[must_use]
    pub const fn hits(&self) -> &[Hit] {
        self.hits
    }
}

impl fmt::Debug for Candidates<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Candidates").field("hits", &self.hits.len()).finish_non_exhaustive()
    }
}

impl<Of> Vectors<Of> {
    /// The hits of a query as a model orders them: of as many as the query's limit, the best `keep`, with the model's
    /// scores. The model is not asked about nothing.
    ///
    /// # Errors
    /// As [`query`](Self::query); [`VectorError::BadLimit`] for a `keep` of 0 or more than
    /// [`VectorQuery::MAX_LIMIT`]; [`VectorError::Reranker`] when it failed or did not score each hit with a usable
    /// number; [`VectorError::Denied`] with [`Denial::DeadlinePassed`].
    pub async fn query_reranked(
        &self,
        query: &VectorQuery,
        question: &str,
        reranker: &dyn Reranker,
        keep: usize,
    ) -> Result<Vec<Hit>, VectorError> {
        let entered = self.pass.enter("vectors.query_reranked").await?;
        let hits = self.reranked(&entered, query, question, reranker, keep).await;
        end(entered, hits, Entered::done)
    }

    async fn reranked(
        &self,
        entered: &Entered<'_>,
        query: &VectorQuery,
        question: &str,
        reranker: &dyn Reranker,
        keep: usize,
    ) -> Result<Vec<Hit>, VectorError> {
        if keep == 0 || keep > VectorQuery::MAX_LIMIT {
            return Err(VectorError::BadLimit { most: VectorQuery::MAX_LIMIT });
        }
        let hits: Vec<_> = self.find(entered, std::slice::from_ref(query), None).await?.into_iter().flatten().collect();
        if hits.is_empty() {
            return Ok(hits);
        }
        let asked = reranker.score(Candidates { entered, question, hits: &hits });
        let scores = tokio::time::timeout(entered.context().remaining(), asked).await;
        let scores = scores.map_err(|_| Denial::DeadlinePassed)?;
        let scores = scores.map_err(|error| VectorError::Reranker(Redacted::new(error)))?;
        // A model takes its time: the tenant may be gone by now.
        entered.check_fresh().await?;
        if scores.len() != hits.len() || !scores.iter().all(|score| score.is_finite()) {
            return Err(VectorError::Reranker(Redacted::new("a score is missing, or no number".into())));
        }
        let mut hits: Vec<_> = hits.into_iter().zip(scores).map(|(hit, score)| Hit { score, ..hit }).collect();
        hits.sort_by(|one, other| other.score.total_cmp(&one.score).then_with(|| one.id().cmp(other.id())));
        hits.truncate(keep);
        Ok(hits)
    }
}
