//! Searching, and checking what was found.

use std::collections::{HashMap, HashSet};

use tenancy_core::{Denial, Entered};

use super::Vectors;
use crate::answers::{self, Hits};
use crate::error::VectorError;
use crate::filter::{Condition, Filter};
use crate::id::{ExternalId, PointKey};
use crate::point::{Found, Hit};
use crate::points::ensure_batch;
use crate::query::{Examples, VectorQuery};
use crate::request::{CountRequest, QueryRequest};

impl<Of> Vectors<Of> {
    /// The hits of each of the queries. With a limit of ours, for what is composed from hits, in place of theirs.
    pub(super) async fn find(
        &self,
        entered: &Entered<'_>,
        queries: &[VectorQuery],
        limit: Option<usize>,
    ) -> Result<Vec<Vec<Hit>>, VectorError> {
        let mut found = vec![Vec::new(); queries.len()];
        let (mut places, mut requests) = (Vec::new(), Vec::new());
        let examples = self.examples(entered, queries).await?;
        if !examples.is_empty() {
            VectorQuery::ensure_bounded(queries, &examples)?;
        }
        for (place, query) in queries.iter().enumerate() {
            // One that can find nothing is not sent, and keeps its place.
            if let Some(search) = self.points.lowering(&examples).lower(query, limit)? {
                requests.push(QueryRequest {
                    schema: self.points.engine.schema.clone(),
                    search,
                    vectors: query.vectors,
                });
                places.push(place);
            }
        }
        let hits = self.ask(entered, requests).await?;
        for (place, hits) in places.into_iter().zip(hits) {
            found[place] = hits.into_iter().map(|(_, hit)| hit).collect();
        }
        Ok(found)
    }

    /// Asks the back end and checks what it answers.
    pub(super) async fn ask(
        &self,
        entered: &Entered<'_>,
        requests: Vec<QueryRequest>,
    ) -> Result<Vec<Vec<(PointKey, Hit)>>, VectorError> {
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let scope = self.scope(entered);
        let answers = self.read(entered, self.points.engine.backend.query(&scope, &requests)).await?;
        if answers.len() != requests.len() {
            return Err(Denial::StoreBreach.into());
        }
        let mut checked = Vec::with_capacity(requests.len());
        for (request, answers) in requests.into_iter().zip(answers) {
            let Hits { mut hits, doubtful } = answers::hits(&self.points.owner, &request.search, answers)?;
            self.ensure_changed(entered, request.search.condition(), &doubtful).await?;
            hits.retain(|(key, _)| !doubtful.contains(key));
            checked.push(hits);
        }
        Ok(checked)
    }

    /// The vectors of the points that are named as examples.
    async fn examples(&self, entered: &Entered<'_>, queries: &[VectorQuery]) -> Result<Examples, VectorError> {
        VectorQuery::ensure_bounded(queries, &Examples::new())?;
        let named: HashSet<_> = queries.iter().flat_map(VectorQuery::examples).cloned().collect();
        if named.len() > VectorQuery::MAX_EXAMPLES {
            return Err(VectorError::TooMany { most: VectorQuery::MAX_EXAMPLES });
        }
        let named: Vec<_> = named.into_iter().collect();
        let found = self.look_up(entered, &named, true).await?;
        let vectors = named.into_iter().zip(found).map(|(id, found)| match found {
            Found::Point(point) => Ok((id, point.vectors)),
            Found::NotVisible => Err(Denial::NotVisible.into()),
        });
        vectors.collect()
    }

    /// Points whose payload did not meet the condition were changed meanwhile, or the store ignored what it was asked.
    /// Asked again whether they meet it, an honest one says no.
    pub(super) async fn ensure_changed(
        &self,
        entered: &Entered<'_>,
        condition: Option<&Condition>,
        doubtful: &HashSet<PointKey>,
    ) -> Result<(), VectorError> {
        let Some(condition) = condition.filter(|_| !doubtful.is_empty()) else { return Ok(()) };
        let those = Filter::HasId(doubtful.iter().copied().collect());
        let request = CountRequest { condition: Some(Filter::All(vec![those, condition.clone()])) };
        let scope = self.scope(entered);
        let count = self.read(entered, self.points.engine.backend.count(&scope, request)).await?;
        if count == 0 { Ok(()) } else { Err(Denial::StoreBreach.into()) }
    }

    pub(super) async fn look_up(
        &self,
        entered: &Entered<'_>,
        ids: &[ExternalId],
        vectors: bool,
    ) -> Result<Vec<Found>, VectorError> {
        ensure_batch(ids.len())?;
        let keys: HashMap<_, _> = self.points.owner.keys_of(ids)?.into_iter().zip(ids).collect();
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let scope = self.scope(entered);
        let asked = self.points.engine.backend.retrieve(&scope, keys.keys().copied().collect(), vectors);
        let answers = self.read(entered, asked).await?;
        let points = answers::points(&self.points.owner, &keys, answers)?;
        Ok(ids.iter().map(|id| points.get(id).cloned().map_or(Found::NotVisible, Found::Point)).collect())
    }
}
