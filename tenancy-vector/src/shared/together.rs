//! A tenant's own points and shared ones in one list.

use std::collections::HashMap;

use super::SharedVectors;
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
    /// [`VectorError::NoArm`] for weights of another number than there are queries, and [`VectorError::TooMany`] beyond
    /// [`MAX_QUERIES`](crate::Vectors::MAX_QUERIES), with nothing asked; [`VectorError::Denied`] as
    /// [`SharedVectors::scoped`]; those of [`query`](crate::Vectors::query), of the first that fails. Dropped: the query
    /// that was under way is recorded as `cancelled`.
    pub async fn query_with(
        &self,
        query: &VectorQuery,
        shared: &[(&SharedVectors, &VectorQuery)],
        fusion: &Fusion,
    ) -> Result<Vec<Hit>, VectorError> {
        if shared.len() >= Self::MAX_QUERIES {
            return Err(VectorError::TooMany { most: Self::MAX_QUERIES });
        }
        fusion.for_arms(&vec![Some(()); shared.len() + 1])?;
        let corpora = shared.iter().map(|(corpus, query)| Ok((corpus.scoped(self.pass.context())?, *query)));
        let corpora = corpora.collect::<Result<Vec<_>, VectorError>>()?;
        let mut lists = vec![self.query(query).await?];
        for (corpus, query) in corpora {
            lists.push(corpus.query(query).await?);
        }
        Ok(fused(fusion, lists, query.hits()))
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
