//! One open shard: the points of one life.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use qdrant_edge::{
    CountRequest, EdgeShard, Filter, PayloadSelectorInclude, PointId, PointInsertOperations, PointOperations,
    QueryRequest as EngineQuery, Record, ScrollRequest, UpdateOperation, WithPayloadInterface,
};
use serde_json::{Map, Value};
use tenancy_core::Life;
use tenancy_vector::{
    Arm, BackendError, PointKey, QueryRequest, Schema, ScoredPayload, TaggedPoint, UpsertRequest, rank, reserved,
};

use crate::engine;
use crate::files::ShardFiles;
use crate::lower;

/// An open shard. Every method blocks, and every request to the engine carries the condition on the life.
#[derive(Debug)]
pub(crate) struct Shard {
    engine: EdgeShard,
    schema: Schema,
    /// One write at a time: what is looked up before a write holds until it, and the engine's `flush` panics when it
    /// meets a write.
    writing: Mutex<()>,
}

impl Shard {
    pub(crate) fn make(files: &ShardFiles, schema: Schema) -> Result<Self, BackendError> {
        files.make().map_err(BackendError::failed)?;
        let engine = EdgeShard::new(files.directory(), engine::config(schema)).map_err(BackendError::failed)?;
        engine.update(engine::life_index()?).map_err(BackendError::failed)?;
        engine.flush();
        files.write_manifest(schema).map_err(BackendError::failed)?;
        Ok(Self { engine, schema, writing: Mutex::new(()) })
    }

    pub(crate) fn load(files: &ShardFiles, schema: Schema) -> Result<Self, BackendError> {
        let engine = EdgeShard::load(files.directory(), Some(engine::config(schema))).map_err(BackendError::failed)?;
        Ok(Self { engine, schema, writing: Mutex::new(()) })
    }

    pub(crate) fn upsert(&self, life: Life, request: UpsertRequest) -> Result<(), BackendError> {
        if request.schema() != self.schema {
            return Err(BackendError::SchemaMismatch);
        }
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let keys: Vec<_> = request.points().iter().map(|point| *point.key()).collect();
        let by_id: HashMap<_, _> = keys.iter().map(|key| (key.engine_id(), key.digest())).collect();
        // Two keys of one call may share an id just as well as an old and a new one.
        if by_id.len() < keys.len() {
            return Err(BackendError::Collision);
        }
        // Without the condition on the life: whatever sits there must not be written over.
        let ids = keys.iter().map(lower::engine_id).collect::<Vec<_>>();
        for there in self.engine.retrieve(&ids, Some(tag_only()?), None).map_err(BackendError::failed)? {
            if !holds(&there, life, &by_id) {
                return Err(BackendError::Collision);
            }
        }
        let points = request.into_points().into_iter().map(|point: TaggedPoint| lower::point(point)).collect();
        self.write(PointOperations::UpsertPoints(PointInsertOperations::PointsList(points)))
    }

    pub(crate) fn query(&self, life: Life, request: &QueryRequest) -> Result<Vec<ScoredPayload>, BackendError> {
        let arms = request.arms().iter().map(|arm| self.arm(life, request, arm)).collect::<Result<Vec<_>, _>>()?;
        let ranked = rank(arms, request.limit());
        let ids = ranked.iter().map(|((_, id), _)| *id).collect();
        let mut payloads: HashMap<_, _> = self
            .scroll(lower::points_of(life, ids)?, true.into(), ranked.len())?
            .into_iter()
            .filter_map(|record| Some((record.id, record.payload?.0)))
            .collect();
        // One that was deleted in the meantime is left out.
        let answers = ranked.into_iter().filter_map(|((_, id), score)| Some((score, payloads.remove(&id)?)));
        Ok(answers.map(|(score, payload)| ScoredPayload::new(score, payload)).collect())
    }

    pub(crate) fn retrieve(&self, life: Life, keys: &[PointKey]) -> Result<Vec<Map<String, Value>>, BackendError> {
        let found = self.held(life, keys, true.into())?;
        Ok(found.into_iter().filter_map(|record| Some(record.payload?.0)).collect())
    }

    pub(crate) fn delete(&self, life: Life, keys: &[PointKey]) -> Result<u64, BackendError> {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let ids: Vec<_> = self.held(life, keys, tag_only()?)?.into_iter().map(|record| record.id).collect();
        let removed = ids.len() as u64;
        if removed > 0 {
            self.write(PointOperations::DeletePointsByFilter(lower::points_of(life, ids)?))?;
        }
        Ok(removed)
    }

    pub(crate) fn count(&self, life: Life) -> Result<u64, BackendError> {
        let request = CountRequest { filter: Some(lower::all_of(life)?), exact: true };
        self.engine.count(request).map(|count| count as u64).map_err(BackendError::failed)
    }

    /// The best points of one arm, with what decides between equal scores.
    fn arm(&self, life: Life, request: &QueryRequest, arm: &Arm) -> Result<Vec<(Ranked, f32)>, BackendError> {
        self.ensure_fits(arm)?;
        let query = EngineQuery {
            prefetches: Vec::new(),
            query: Some(lower::arm(arm)),
            filter: Some(lower::scoped(life, request.filter())?),
            score_threshold: None,
            limit: request.depth(),
            offset: 0,
            params: None,
            with_vector: false.into(),
            with_payload: tag_only()?,
        };
        let found = self.engine.query(query).map_err(BackendError::failed)?;
        let keyed = found.into_iter().map(|point| {
            let id = point.payload.as_ref().and_then(|payload| reserved::text(&payload.0, reserved::ID));
            ((id.unwrap_or_default().to_owned(), point.id), point.score)
        });
        Ok(keyed.collect())
    }

    fn ensure_fits(&self, arm: &Arm) -> Result<(), BackendError> {
        let fits = match arm {
            Arm::Dense(vector) => vector.len() == self.schema.dimension(),
            Arm::Sparse(_) => self.schema.has_sparse(),
        };
        if fits { Ok(()) } else { Err(BackendError::SchemaMismatch) }
    }

    /// Those of the points that are there under their whole key.
    fn held(&self, life: Life, keys: &[PointKey], payload: WithPayloadInterface) -> Result<Vec<Record>, BackendError> {
        let by_id: HashMap<_, _> = keys.iter().map(|key| (key.engine_id(), key.digest())).collect();
        let filter = lower::points_of(life, keys.iter().map(lower::engine_id).collect())?;
        let mut found = self.scroll(filter, payload, keys.len())?;
        found.retain(|record| holds(record, life, &by_id));
        Ok(found)
    }

    fn scroll(&self, filter: Filter, payload: WithPayloadInterface, limit: usize) -> Result<Vec<Record>, BackendError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let request = ScrollRequest {
            offset: None,
            limit: Some(limit),
            filter: Some(filter),
            with_payload: Some(payload),
            with_vector: false.into(),
            order_by: None,
        };
        self.engine.scroll(request).map(|(records, _)| records).map_err(BackendError::failed)
    }

    /// Writes and flushes. Called with `writing` held.
    fn write(&self, operation: PointOperations) -> Result<(), BackendError> {
        self.engine.update(UpdateOperation::PointOperation(operation)).map_err(BackendError::failed)?;
        self.engine.flush();
        Ok(())
    }
}

/// What answers are ordered by when their scores are equal: the external id, and the id to fetch it with.
type Ranked = (String, PointId);

/// Whether a record is the point that the key with its id names, in this life.
fn holds(record: &Record, life: Life, digests: &HashMap<qdrant_edge::external::uuid::Uuid, String>) -> bool {
    let PointId::Uuid(id) = record.id else { return false };
    let Some(payload) = &record.payload else { return false };
    reserved::text(&payload.0, reserved::DIGEST) == digests.get(&id).map(String::as_str)
        && reserved::text(&payload.0, reserved::LIFE) == Some(&reserved::life(life))
}

fn tag_only() -> Result<WithPayloadInterface, BackendError> {
    Ok(PayloadSelectorInclude::new(vec![lower::path(reserved::KEY)?]).into())
}
