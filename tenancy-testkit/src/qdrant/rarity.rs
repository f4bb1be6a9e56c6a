//! How rare a term is among the points that a request names as its corpus.
//!
//! A server counts, for each term of a sparse query, in how many points of the corpus it appears, and weighs it by that.
//! Without a corpus it counts over the whole shard: then the points of others move a score. The engine here can only do
//! the latter, so sparse vectors are stored without its modifier and the counting is done by us, over the same points.

use std::collections::HashMap;

use qdrant_edge::{Filter, ScrollRequest, SparseVector, VectorInternal, WithVector};
use tonic::Status;

use super::convert::{named, refused};
use super::store::Shard;

/// Counts of one corpus.
pub(super) struct Rarity {
    documents: usize,
    /// In how many documents a term appears.
    holding: HashMap<u32, usize>,
}

impl Rarity {
    /// Counts over the points of a shard that hold the vector and meet the filter. Deleted points are not counted; a
    /// server counts them until it has cleaned up.
    pub(super) fn count(shard: &Shard, vector: &str, corpus: Option<&Filter>) -> Result<Self, Status> {
        let request = ScrollRequest {
            offset: None,
            limit: Some(shard.engine.info().points_count.max(1)),
            filter: corpus.cloned(),
            with_payload: Some(false.into()),
            with_vector: WithVector::Selector(vec![vector.to_owned()]),
            order_by: None,
        };
        let (records, _) = shard.engine.scroll(request).map_err(refused)?;
        let mut rarity = Self { documents: 0, holding: HashMap::new() };
        for record in records {
            let found = record.vector.and_then(|vectors| named(vectors).remove(vector));
            if let Some(VectorInternal::Sparse(sparse)) = found {
                rarity.documents += 1;
                for index in sparse.indices {
                    *rarity.holding.entry(index).or_default() += 1;
                }
            }
        }
        Ok(rarity)
    }

    pub(super) fn weigh(&self, vector: &mut SparseVector) {
        for (index, value) in vector.indices.iter().zip(&mut vector.values) {
            *value *= self.of(*index);
        }
    }

    /// The engine's own formula, in its own precision.
    fn of(&self, term: u32) -> f32 {
        let n = self.documents as f32;
        let df = self.holding.get(&term).copied().unwrap_or_default() as f32;
        ((n - df + 0.5) / (df + 0.5) + 1.).ln()
    }
}
