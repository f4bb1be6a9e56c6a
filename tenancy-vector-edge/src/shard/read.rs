//! Reads that are no searches.

use std::collections::HashSet;

use qdrant_edge::external::uuid::Uuid;
use qdrant_edge::{FacetValue, PointId, Record, ScrollRequest as EngineScroll, WithPayloadInterface};
use tenancy_core::Life;
use tenancy_vector::{
    BackendError, Condition, CountRequest, FacetRequest, Filter, FilterValue, PointKey, Position, ScrollRequest,
    StoredPayload,
};

use super::{Digests, Shard};
use crate::lower::{self, Scoped};

impl Shard {
    pub(crate) fn retrieve(
        &self,
        life: Life,
        keys: &[PointKey],
        vectors: bool,
    ) -> Result<Vec<StoredPayload>, BackendError> {
        self.held(life, keys, true.into(), vectors)?
            .into_iter()
            .filter_map(|record| stored(record).transpose())
            .collect()
    }

    pub(crate) fn count(&self, life: Life, request: &CountRequest) -> Result<u64, BackendError> {
        self.engine.count(Scoped::to(life)?.meeting(request.condition())?)
    }

    /// All points of the life.
    pub(crate) fn count_all(&self, life: Life) -> Result<u64, BackendError> {
        self.engine.count(Scoped::to(life)?)
    }

    /// The values are the engine's, the numbers are counted: its own are estimates.
    pub(crate) fn facet(&self, life: Life, request: &FacetRequest) -> Result<Vec<(FilterValue, u64)>, BackendError> {
        let scoped = || Scoped::to(life)?.meeting(request.condition());
        let found = self.engine.facet(scoped()?, lower::path(request.key().as_str())?)?;
        let values: HashSet<_> = found.hits.into_iter().map(|hit| value(hit.value)).collect();
        let mut counted = Vec::with_capacity(values.len());
        for value in values {
            let these: Condition = Filter::Equals(request.key().clone(), value.clone());
            let count = self.engine.count(scoped()?.meeting([&these])?)?;
            if count > 0 {
                counted.push((value, count));
            }
        }
        counted.sort_by(|(one, many), (two, few)| few.cmp(many).then_with(|| one.cmp(two)));
        counted.truncate(request.limit());
        Ok(counted)
    }

    pub(crate) fn page(&self, life: Life, request: &ScrollRequest) -> Result<Vec<StoredPayload>, BackendError> {
        let scoped = Scoped::to(life)?.meeting(request.condition())?;
        let (limit, vectors) = (request.limit(), request.vectors());
        let records = match request.position() {
            Position::After(None) => self.scroll(scoped, None, true.into(), vectors, limit)?,
            Position::After(Some(last)) => match last.as_u128().checked_add(1) {
                // The engine begins with the id it is given.
                Some(next) => self.scroll(scoped, Some(Uuid::from_u128(next)), true.into(), vectors, limit)?,
                None => Vec::new(),
            },
            Position::Ordered(order) => {
                let keys = self.ordered(order, &scoped, limit)?;
                let mut records = self.records(life, keys.iter().map(|key| key.id), vectors)?;
                keys.iter().filter_map(|key| records.remove(&key.id)).collect()
            }
        };
        records.into_iter().filter_map(|record| stored(record).transpose()).collect()
    }

    /// Those of the points that are there under their whole key.
    pub(super) fn held(
        &self,
        life: Life,
        keys: &[PointKey],
        payload: WithPayloadInterface,
        vectors: bool,
    ) -> Result<Vec<Record>, BackendError> {
        let digests = Digests::of(keys);
        let scoped = Scoped::to(life)?.among(keys.iter().map(lower::engine_id));
        let mut found = self.scroll(scoped, None, payload, vectors, keys.len())?;
        found.retain(|record| digests.hold(record, life));
        Ok(found)
    }

    /// Points in the order of their ids, from one on.
    pub(super) fn scroll(
        &self,
        scoped: Scoped,
        from: Option<Uuid>,
        payload: WithPayloadInterface,
        vectors: bool,
        limit: usize,
    ) -> Result<Vec<Record>, BackendError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let request = EngineScroll {
            offset: from.map(PointId::Uuid),
            limit: Some(limit),
            filter: None,
            with_payload: Some(payload),
            with_vector: vectors.into(),
            order_by: None,
        };
        self.engine.scroll(scoped, request)
    }
}

/// A record as an answer. One that was deleted in the meantime has no payload.
pub(super) fn stored(record: Record) -> Result<Option<StoredPayload>, BackendError> {
    let Some(payload) = record.payload else { return Ok(None) };
    let vectors = lower::from_engine(record.vector)?;
    Ok(Some(StoredPayload::new(payload.0).with_vectors(vectors)))
}

fn value(value: FacetValue) -> FilterValue {
    match value {
        FacetValue::Keyword(text) => FilterValue::Text(text),
        FacetValue::Int(number) => FilterValue::Integer(number),
        FacetValue::Bool(flag) => FilterValue::Flag(flag),
        // Texts that look like one; no index of ours takes them for it.
        FacetValue::Uuid(uuid) => FilterValue::Text(Uuid::from_u128(uuid).hyphenated().to_string()),
    }
}
