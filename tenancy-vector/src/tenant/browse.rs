//! Reads that do not look for anything: counts by value, and which points are near to each other.

use tenancy_core::{Denial, Entered};

use super::{Vectors, end};
use crate::error::VectorError;
use crate::filter::{Condition, Filter, FilterValue, Reduced};
use crate::id::ExternalId;
use crate::name::VectorName;
use crate::payload::PayloadKey;
use crate::query::VectorQuery;
use crate::request::{FacetRequest, Find, QueryRequest, Search};
use crate::schema::IndexKind;

/// How often a value is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facet {
    value: FilterValue,
    count: u64,
}

impl Facet {
    /// The value.
    #[must_use]
    pub const fn value(&self) -> &FilterValue {
        &self.value
    }

    /// In how many points.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }
}

/// Two points and how near they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Near {
    one: ExternalId,
    other: ExternalId,
    score: f32,
}

impl Near {
    /// The point whose neighbour the other is.
    #[must_use]
    pub const fn one(&self) -> &ExternalId {
        &self.one
    }

    /// The neighbour.
    #[must_use]
    pub const fn other(&self) -> &ExternalId {
        &self.other
    }

    /// The score of the second in a search for the first.
    #[must_use]
    pub const fn score(&self) -> f32 {
        self.score
    }
}

impl<Of> Vectors<Of> {
    /// The most points in a matrix.
    pub const MAX_SAMPLE: usize = 100;

    /// The most frequent values of an indexed key (a text, a whole number or a truth value) among the points that meet
    /// a filter, with their exact counts; equally frequent ones in their order.
    ///
    /// # Errors
    /// [`VectorError::NotIndexed`]; [`VectorError::BadLimit`]; those of a filter; [`VectorError::Backend`].
    pub async fn facet(
        &self,
        key: &PayloadKey,
        filter: Option<&Filter>,
        limit: usize,
    ) -> Result<Vec<Facet>, VectorError> {
        let entered = self.pass.enter("vectors.facet").await?;
        let facets = self.count_values(&entered, key, filter, limit).await;
        end(entered, facets, Entered::done)
    }

    /// How near points are to each other: a sample by chance, and of each its nearest neighbours within it.
    ///
    /// # Errors
    /// [`VectorError::UnknownVector`]; [`VectorError::BadLimit`] for more than [`MAX_SAMPLE`](Self::MAX_SAMPLE); those
    /// of a filter; [`VectorError::Backend`].
    pub async fn matrix(
        &self,
        using: &VectorName,
        filter: Option<&Filter>,
        sample: usize,
        neighbours: usize,
    ) -> Result<Vec<Near>, VectorError> {
        let entered = self.pass.enter("vectors.matrix").await?;
        let near = self.neighbours(&entered, using, filter, sample, neighbours).await;
        end(entered, near, Entered::done)
    }

    async fn count_values(
        &self,
        entered: &Entered<'_>,
        key: &PayloadKey,
        filter: Option<&Filter>,
        limit: usize,
    ) -> Result<Vec<Facet>, VectorError> {
        match self.points.engine.schema.index_of(key) {
            Some(IndexKind::Keyword | IndexKind::Integer | IndexKind::Flag) => {}
            Some(_) | None => return Err(VectorError::NotIndexed(key.clone())),
        }
        if limit == 0 || limit > VectorQuery::MAX_LIMIT {
            return Err(VectorError::BadLimit { most: VectorQuery::MAX_LIMIT });
        }
        let Some(condition) = decided(self.points.condition(filter)?) else { return Ok(Vec::new()) };
        let scope = self.scope(entered);
        let request = FacetRequest { key: key.clone(), condition, limit };
        let counts = self.read(entered, self.points.engine.backend.facet(&scope, request)).await?;
        if counts.len() > limit {
            return Err(Denial::StoreBreach.into());
        }
        Ok(counts.into_iter().map(|(value, count)| Facet { value, count }).collect())
    }

    async fn neighbours(
        &self,
        entered: &Entered<'_>,
        using: &VectorName,
        filter: Option<&Filter>,
        sample: usize,
        neighbours: usize,
    ) -> Result<Vec<Near>, VectorError> {
        if !(1..=Self::MAX_SAMPLE).contains(&sample) || !(1..=Self::MAX_SAMPLE).contains(&neighbours) {
            return Err(VectorError::BadLimit { most: Self::MAX_SAMPLE });
        }
        if self.points.engine.schema.vector(using).is_none() {
            return Err(VectorError::UnknownVector(using.clone()));
        }
        let Some(condition) = decided(self.points.condition(filter)?) else { return Ok(Vec::new()) };
        let condition = Some(and(condition, Filter::HasVector(using.clone())));
        let search = |find, condition, limit| Search { find, condition, limit, threshold: None, exact: true };
        let request = |search, vectors| QueryRequest { schema: self.points.engine.schema.clone(), search, vectors };
        let chosen = self.ask(entered, vec![request(search(Find::Sample, condition, sample), true)]).await?;
        let chosen: Vec<_> = chosen.into_iter().flatten().collect();
        let keys: Vec<_> = chosen.iter().map(|(key, _)| *key).collect();
        let mut requests = Vec::new();
        let mut points = Vec::new();
        for (key, hit) in &chosen {
            let others: Vec<_> = keys.iter().filter(|other| *other != key).copied().collect();
            if let Some(vector) = hit.point.vectors.get(using).filter(|_| !others.is_empty()) {
                let find = Find::Nearest { using: using.clone(), vector: vector.clone() };
                requests.push(request(search(find, Some(Filter::HasId(others)), neighbours), false));
                points.push(hit.id().clone());
            }
        }
        let found = self.ask(entered, requests).await?;
        let near = points.into_iter().zip(found).flat_map(|(one, hits)| {
            hits.into_iter().map(move |(_, hit)| Near { one: one.clone(), other: hit.id().clone(), score: hit.score() })
        });
        Ok(near.collect())
    }
}

pub(super) fn and(condition: Option<Condition>, other: Condition) -> Condition {
    match condition {
        Some(condition) => Filter::All(vec![condition, other]),
        None => other,
    }
}

/// `None` where no point can match.
pub(super) fn decided(reduced: Reduced) -> Option<Option<Condition>> {
    match reduced {
        Reduced::Nothing => None,
        Reduced::Everything => Some(None),
        Reduced::Some(condition) => Some(Some(condition)),
    }
}
