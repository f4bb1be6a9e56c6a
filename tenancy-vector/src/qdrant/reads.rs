//! Reads, sent, and their answers.

use std::collections::HashMap;

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::{facet_value, read_consistency};

use super::backend::QdrantBackend;
use super::channel::{Again, Failure};
use super::error::QdrantError;
use super::layout::{Place, QdrantLayout};
use super::query::without_payload;
use super::{value, write};
use crate::backend::{ScoredPayload, StoredPayload};
use crate::error::BackendError;
use crate::filter::{Filter, FilterValue};
use crate::id::PointKey;
use crate::request::{CountRequest, FacetRequest, Find, Position, QueryRequest, ScrollRequest};

impl QdrantBackend {
    pub(super) async fn query_in(
        &self,
        place: &Place,
        requests: &[QueryRequest],
    ) -> Result<Vec<Vec<ScoredPayload>>, BackendError> {
        match requests {
            [] => return Ok(Vec::new()),
            [request] => return Ok(vec![self.query_one(place, request).await?]),
            _several => {}
        }
        let lowered = requests.iter().map(|request| place.query(request, self.link.seconds()));
        let request = pb::QueryBatchPoints {
            collection_name: place.collection.clone(),
            query_points: lowered.collect::<Result<_, _>>()?,
            read_consistency: None,
            timeout: Some(self.link.seconds()),
        };
        let answer = self.link.call(place.about(), Again::May, request, |clients, request| async move {
            clients.points().query_batch(request).await
        });
        let Some(answer) = self.or_nothing(answer.await)? else {
            return Ok(requests.iter().map(|_| Vec::new()).collect());
        };
        if answer.result.len() != requests.len() {
            return Err(QdrantError::Incomplete.into());
        }
        let both = requests.iter().zip(answer.result);
        Ok(both.map(|(request, batch)| scored(request, batch.result)).collect::<Result<_, _>>()?)
    }

    /// Most calls ask one query, which a server answers a little faster than a batch of one.
    async fn query_one(&self, place: &Place, request: &QueryRequest) -> Result<Vec<ScoredPayload>, BackendError> {
        let lowered = place.query(request, self.link.seconds())?;
        let answer = self.link.call(place.about(), Again::May, lowered, |clients, request| async move {
            clients.points().query(request).await
        });
        let found = self.or_nothing(answer.await)?.map(|answer| answer.result).unwrap_or_default();
        Ok(scored(request, found)?)
    }

    pub(super) async fn scroll_in(
        &self,
        place: &Place,
        request: &ScrollRequest,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        self.send_scroll(place, place.scroll(request, self.link.seconds())).await
    }

    async fn send_scroll(&self, place: &Place, request: pb::ScrollPoints) -> Result<Vec<StoredPayload>, BackendError> {
        let answer = self.link.call(place.about(), Again::May, request, |clients, request| async move {
            clients.points().scroll(request).await
        });
        let found = self.or_nothing(answer.await)?.map(|answer| answer.result).unwrap_or_default();
        let stored = found.into_iter().map(|point| stored(point.payload, point.vectors));
        Ok(stored.collect::<Result<_, _>>()?)
    }

    pub(super) async fn retrieve_in(
        &self,
        place: &Place,
        keys: Vec<PointKey>,
        vectors: bool,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        let mut found = Vec::with_capacity(keys.len());
        for keys in keys.chunks(write::BATCH) {
            // A server's own look-up by id has no filter.
            let request = ScrollRequest {
                condition: Some(Filter::HasId(keys.to_vec())),
                limit: keys.len(),
                position: Position::After(None),
                vectors,
            };
            found.extend(self.scroll_in(place, &request).await?);
        }
        Ok(found)
    }

    pub(super) async fn count_in(&self, place: &Place, request: &CountRequest) -> Result<u64, BackendError> {
        self.send_count(place, place.count(request, self.link.seconds())).await
    }

    async fn send_count(&self, place: &Place, request: pb::CountPoints) -> Result<u64, BackendError> {
        let answer = self.link.call(place.about(), Again::May, request, |clients, request| async move {
            clients.points().count(request).await
        });
        match self.or_nothing(answer.await)? {
            None => Ok(0),
            Some(answer) => Ok(answer.result.ok_or(QdrantError::Incomplete)?.count),
        }
    }

    pub(super) async fn facet_in(
        &self,
        place: &Place,
        request: &FacetRequest,
    ) -> Result<Vec<(FilterValue, u64)>, BackendError> {
        let request = place.facet(request, self.link.seconds());
        let answer = self.link.call(place.about(), Again::May, request, |clients, request| async move {
            clients.points().facet(request).await
        });
        let hits = self.or_nothing(answer.await)?.map(|answer| answer.hits).unwrap_or_default();
        let value = |hit: pb::FacetHit| {
            let value = match hit.value?.variant? {
                facet_value::Variant::StringValue(text) => FilterValue::Text(text),
                facet_value::Variant::IntegerValue(number) => FilterValue::Integer(number),
                facet_value::Variant::BoolValue(flag) => FilterValue::Flag(flag),
            };
            Some((value, hit.count))
        };
        let mut counts: Vec<_> = hits.into_iter().map(value).collect::<Option<_>>().ok_or(QdrantError::Incomplete)?;
        counts.sort_by(|(one, many), (other, few)| few.cmp(many).then_with(|| one.cmp(other)));
        Ok(counts)
    }

    /// How many points a life has, on every replica: one that was away may still have what was deleted meanwhile. None when a
    /// look at the points agrees. It asks for no payload: one that can't be read would hide that it is there.
    pub(super) async fn left(&self, place: &Place) -> Result<u64, BackendError> {
        let everywhere = read_consistency::Value::Type(pb::ReadConsistencyType::All.into());
        let everywhere = Some(pb::ReadConsistency { value: Some(everywhere) });
        let first = ScrollRequest { condition: None, limit: 1, position: Position::After(None), vectors: false };
        let mut count = place.count(&CountRequest { condition: None }, self.link.seconds());
        let mut look = place.scroll(&first, self.link.seconds());
        (count.read_consistency, look.read_consistency) = (everywhere, everywhere);
        look.with_payload = Some(without_payload());
        let counted = self.send_count(place, count).await?;
        Ok(counted.max(self.send_scroll(place, look).await?.len() as u64))
    }

    /// A life without a collection or shard of its own has no points. The one of all lives must be there.
    fn or_nothing<T>(&self, answer: Result<T, Failure>) -> Result<Option<T>, BackendError> {
        match (answer, &self.layout) {
            (Ok(answer), _) => Ok(Some(answer)),
            (Err(failure), QdrantLayout::Collections { .. } | QdrantLayout::ShardKeys { .. })
                if failure.is_absent() =>
            {
                Ok(None)
            }
            (Err(failure), _) => Err(self.unless_there(failure)),
        }
    }

    pub(super) fn unless_there(&self, failure: Failure) -> BackendError {
        if failure.is_absent() { QdrantError::NoCollection.into() } else { failure.into() }
    }
}

/// The answers of one query, equal scores in the order of their external ids. An order, a sample and a choice by
/// difference come in an order that is not their scores'.
fn scored(request: &QueryRequest, found: Vec<pb::ScoredPoint>) -> Result<Vec<ScoredPayload>, QdrantError> {
    let read = |point: pb::ScoredPoint| Ok(ScoredPayload::new(point.score, stored(point.payload, point.vectors)?));
    let mut answers = found.into_iter().map(read).collect::<Result<Vec<_>, QdrantError>>()?;
    match request.search().find() {
        Find::Ordered(_) | Find::Sample | Find::Mmr { .. } => {}
        Find::Nearest { .. }
        | Find::Recommend { .. }
        | Find::Discover { .. }
        | Find::Context { .. }
        | Find::Fuse { .. }
        | Find::Rescore { .. }
        | Find::Refine { .. } => {
            answers.sort_by(|one, two| two.score.total_cmp(&one.score).then_with(|| id(one).cmp(&id(two))));
        }
    }
    Ok(answers)
}

fn id(answer: &ScoredPayload) -> Option<&str> {
    answer.stored.tag.as_ref().map(|tag| tag.id.as_str())
}

fn stored(
    payload: HashMap<String, pb::Value>,
    vectors: Option<pb::VectorsOutput>,
) -> Result<StoredPayload, QdrantError> {
    let (tag, payload) = value::tagged_back(payload);
    Ok(StoredPayload { tag, payload, vectors: value::named_back(vectors)? })
}
