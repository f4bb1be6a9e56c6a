//! Hits in groups, composed from searches: engines stop looking after a few rounds, and each in its own way.

use std::collections::HashMap;

use tenancy_core::Entered;

use super::{Vectors, end};
use crate::error::VectorError;
use crate::filter::FilterValue;
use crate::payload::PayloadKey;
use crate::point::Hit;
use crate::query::VectorQuery;

/// How hits are grouped.
#[derive(Clone, Debug)]
pub struct GroupBy {
    key: PayloadKey,
    groups: usize,
    size: usize,
}

impl GroupBy {
    /// The most hits of all groups together.
    pub const MAX_HITS: usize = 1000;

    /// By a value of the payload, a text, a whole number or a truth value: at most so many groups, of so many hits each.
    /// A point without such a value is in none, one with a list in a group for each item.
    ///
    /// # Errors
    /// [`VectorError::BadLimit`] for none and for more than [`MAX_HITS`](Self::MAX_HITS) in all.
    pub fn new(key: PayloadKey, groups: usize, size: usize) -> Result<Self, VectorError> {
        match groups.checked_mul(size) {
            Some(1..=Self::MAX_HITS) => Ok(Self { key, groups, size }),
            Some(_) | None => Err(VectorError::BadLimit { most: Self::MAX_HITS }),
        }
    }
}

/// The hits with one value.
#[derive(Clone, Debug, PartialEq)]
pub struct HitGroup {
    value: FilterValue,
    hits: Vec<Hit>,
}

impl HitGroup {
    /// The value.
    #[must_use]
    pub const fn value(&self) -> &FilterValue {
        &self.value
    }

    /// The hits, the best first.
    #[must_use]
    pub fn hits(&self) -> &[Hit] {
        &self.hits
    }

    /// The hits, the best first.
    #[must_use]
    pub fn into_hits(self) -> Vec<Hit> {
        self.hits
    }
}

impl<Of> Vectors<Of> {
    /// How many of the best hits are looked at for groups.
    pub const MAX_GROUPED: usize = 8192;

    /// The hits of a query in groups, the one with the best hit first. The query's own limit does not count.
    ///
    /// More and more hits are looked at, up to [`MAX_GROUPED`](Self::MAX_GROUPED), until the groups are full or there
    /// are no more.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub async fn query_groups(&self, query: &VectorQuery, by: &GroupBy) -> Result<Vec<HitGroup>, VectorError> {
        let entered = self.pass.enter("vectors.query_groups").await?;
        let groups = self.find_groups(&entered, query, by).await;
        end(entered, groups, Entered::done)
    }

    async fn find_groups(
        &self,
        entered: &Entered<'_>,
        query: &VectorQuery,
        by: &GroupBy,
    ) -> Result<Vec<HitGroup>, VectorError> {
        let mut limit = by.groups.saturating_mul(by.size).saturating_mul(4).max(100);
        loop {
            let hits = self.find(entered, std::slice::from_ref(query), Some(limit)).await?;
            let hits: Vec<_> = hits.into_iter().flatten().collect();
            let last = hits.len() < limit || limit >= Self::MAX_GROUPED;
            let groups = grouped(hits, by);
            if last || groups.len() == by.groups && groups.iter().all(|group| group.hits.len() == by.size) {
                return Ok(groups);
            }
            limit = limit.saturating_mul(4).min(Self::MAX_GROUPED);
        }
    }
}

fn grouped(hits: Vec<Hit>, by: &GroupBy) -> Vec<HitGroup> {
    let (mut groups, mut places) = (Vec::<HitGroup>::new(), HashMap::new());
    for hit in hits {
        let mut values: Vec<_> = by.key.items(hit.payload()).filter_map(FilterValue::of).collect();
        values.sort_unstable();
        values.dedup();
        for value in values {
            let place = match places.get(&value) {
                Some(place) => *place,
                None if groups.len() == by.groups => continue,
                None => {
                    places.insert(value.clone(), groups.len());
                    groups.push(HitGroup { value, hits: Vec::new() });
                    groups.len() - 1
                }
            };
            if groups[place].hits.len() < by.size {
                groups[place].hits.push(hit.clone());
            }
        }
    }
    groups
}
