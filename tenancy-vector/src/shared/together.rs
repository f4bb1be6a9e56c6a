//! A tenant's own points and shared ones in one list.

use std::collections::HashMap;

use tenancy_core::Denial;

use super::SharedCorpus;
use crate::error::VectorError;
use crate::point::Hit;
use crate::query::{Fusion, VectorQuery, fuse};
use crate::tenant::TenantVectors;

impl TenantVectors {
    /// The hits of a query among the tenant's own points, fused with those of queries in shared corpora: the best of all,
    /// at most as many as the first query's limit. Equal scores: own points first, then by external id.
    ///
    /// Scores of two corpora are not comparable, so [`Fusion::ranks`] is the one to begin with. An own point and a shared
    /// one with the same external id are two, and each says where it comes from.
    ///
    /// # Errors
    /// [`VectorError::Denied`] with [`Denial::WrongLife`] for a handle of another tenant, recorded, with nothing asked;
    /// those of [`query`](crate::Vectors::query), of the first that fails. Dropped: each query that was under way is
    /// recorded as `cancelled`.
    pub async fn query_with(
        &self,
        query: &VectorQuery,
        shared: &[(&SharedCorpus, &VectorQuery)],
        fusion: &Fusion,
    ) -> Result<Vec<Hit>, VectorError> {
        for (corpus, _) in shared {
            self.ensure_same(corpus)?;
        }
        let mut lists = vec![self.query(query).await?];
        for (corpus, query) in shared {
            lists.push(corpus.query(query).await?);
        }
        Ok(fused(fusion, lists, query.hits()))
    }

    /// Both handles were made for the same tenant.
    fn ensure_same(&self, corpus: &SharedCorpus) -> Result<(), Denial> {
        let (mine, theirs) = (self.pass.context(), corpus.pass.context());
        if mine.realm() == theirs.realm() && mine.life() == theirs.life() {
            Ok(())
        } else {
            Err(self.pass.refuse("vectors.query_with", Denial::WrongLife))
        }
    }
}

fn fused(fusion: &Fusion, lists: Vec<Vec<Hit>>, limit: usize) -> Vec<Hit> {
    let mut hits = HashMap::new();
    let mut arms = Vec::with_capacity(lists.len());
    for list in lists {
        let arm = list.into_iter().map(|hit| {
            let (key, score) = ((hit.origin().clone(), hit.id().clone()), hit.score());
            hits.insert(key.clone(), hit);
            (key, score)
        });
        arms.push(arm.collect());
    }
    let fused = fuse(fusion, arms, limit).into_iter();
    fused.filter_map(|(key, score)| hits.remove(&key).map(|hit| Hit { score, ..hit })).collect()
}
