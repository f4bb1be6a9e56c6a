//! Writes.

use std::collections::{BTreeMap, HashSet};
use std::sync::PoisonError;

use qdrant_edge::{
    DeletePayloadOp, Payload, PayloadOps, PointId, PointOperations, PointStructPersisted, PointVectorsPersisted,
    SetPayloadOp, UpdateOperation, UpdateVectorsOp, VectorOperations,
};
use serde_json::{Map, Value};
use tenancy_core::Life;
use tenancy_vector::{
    BackendError, PayloadKey, PointKey, Selector, TaggedPoint, TaggedVectors, UpsertMode, VectorName, Write,
    WriteRequest,
};

use super::{Digests, Shard, tag_only};
use crate::lower::{self, Scoped};

impl Shard {
    /// Does the writes and flushes, also when one of them failed: what went before it is there.
    pub(crate) fn write(&self, life: Life, request: WriteRequest) -> Result<(), BackendError> {
        self.ensure_made_for(request.schema())?;
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, writes) = request.into_parts();
        let written = writes.into_iter().try_for_each(|write| self.do_one(life, write));
        self.engine.flush();
        written
    }

    fn do_one(&self, life: Life, write: Write) -> Result<(), BackendError> {
        match write {
            Write::Upsert { points, mode } => self.upsert(life, points, &mode),
            Write::SetVectors(points) => self.set_vectors(life, points),
            Write::DeleteVectors(selector, names) => {
                let Some(selected) = self.selected(life, &selector)? else { return Ok(()) };
                self.delete_vectors(selected, names.iter())
            }
            Write::SetPayload(selector, values, at) => self.set_payload(life, &selector, values, at.as_ref()),
            Write::OverwritePayload(key, payload) => {
                let Some(selected) = self.selected(life, &Selector::Keys(vec![key]))? else { return Ok(()) };
                self.engine.change(selected, |filter| {
                    let set = SetPayloadOp { payload: Payload(payload), points: None, filter: Some(filter), key: None };
                    UpdateOperation::PayloadOperation(PayloadOps::OverwritePayload(set))
                })
            }
            Write::DeletePayload(selector, keys) => {
                let Some(selected) = self.selected(life, &selector)? else { return Ok(()) };
                let keys = keys.iter().map(|key| lower::path(key.as_str())).collect::<Result<_, _>>()?;
                self.engine.change(selected, |filter| {
                    let delete = DeletePayloadOp { keys, points: None, filter: Some(filter) };
                    UpdateOperation::PayloadOperation(PayloadOps::DeletePayload(delete))
                })
            }
            Write::Delete(selector) => {
                let Some(selected) = self.selected(life, &selector)? else { return Ok(()) };
                // By their ids from here on: a condition may be on the vectors that go first.
                let points = self.scroll(selected, None, false.into(), false, usize::MAX)?;
                let selected = Scoped::to(life)?.among(points.into_iter().map(|record| record.id));
                // The engine goes on counting the terms of a deleted point, but not those of a deleted vector.
                self.delete_vectors(selected.clone(), self.sparse_names().iter())?;
                self.engine.change(selected, |filter| {
                    UpdateOperation::PointOperation(PointOperations::DeletePointsByFilter(filter))
                })
            }
        }
    }

    fn upsert(&self, life: Life, points: Vec<TaggedPoint>, mode: &UpsertMode) -> Result<(), BackendError> {
        let digests = Digests::of(points.iter().map(TaggedPoint::key));
        // Two keys of one call may share an id just as well as an old and a new one.
        if digests.0.len() < points.len() {
            return Err(BackendError::Collision);
        }
        // Without the condition on the life: whatever sits there must not be written over.
        let ids: Vec<_> = points.iter().map(|point| lower::engine_id(point.key())).collect();
        let there = self.engine.at(&ids, tag_only()?)?;
        if !there.iter().all(|record| digests.hold(record, life)) {
            return Err(BackendError::Collision);
        }
        let there: HashSet<_> = there.into_iter().map(|record| record.id).collect();
        let meeting = match mode {
            UpsertMode::Replace | UpsertMode::Insert | UpsertMode::Update(None) => HashSet::new(),
            UpsertMode::Update(Some(condition)) => {
                let scoped = Scoped::to(life)?.among(there.iter().copied()).meeting([condition])?;
                let records = self.scroll(scoped, None, false.into(), false, there.len())?;
                records.into_iter().map(|record| record.id).collect()
            }
        };
        let wanted = |id: &PointId| match mode {
            UpsertMode::Replace => true,
            UpsertMode::Insert => !there.contains(id),
            UpsertMode::Update(None) => there.contains(id),
            UpsertMode::Update(Some(_)) => meeting.contains(id),
        };
        let points: Vec<_> = points.into_iter().filter(|point| wanted(&lower::engine_id(point.key()))).collect();
        self.forget_vectors(life, points.iter().filter(|point| there.contains(&lower::engine_id(point.key()))))?;
        if points.is_empty() {
            return Ok(());
        }
        self.engine.put(points.into_iter().map(point).collect())
    }

    /// Takes away the vectors that the new version of a point does not have. The engine leaves them where it moves the
    /// point to another segment: it would still be found by what it does not say any more.
    fn forget_vectors<'p>(
        &self,
        life: Life,
        points: impl Iterator<Item = &'p TaggedPoint>,
    ) -> Result<(), BackendError> {
        let mut lacking = BTreeMap::<Vec<&VectorName>, Vec<PointId>>::new();
        for point in points {
            let has = |name: &VectorName| point.vectors().get(name).is_some_and(|vector| !vector.is_empty());
            let names = self.schema.vectors().map(|(name, _)| name).filter(|name| !has(name));
            lacking.entry(names.collect()).or_default().push(lower::engine_id(point.key()));
        }
        for (names, ids) in lacking {
            self.delete_vectors(Scoped::to(life)?.among(ids), names)?;
        }
        Ok(())
    }

    fn set_vectors(&self, life: Life, points: Vec<TaggedVectors>) -> Result<(), BackendError> {
        let keys: Vec<_> = points.iter().map(|point| *point.key()).collect();
        let there: HashSet<_> =
            self.held(life, &keys, tag_only()?, false)?.into_iter().map(|record| record.id).collect();
        let mut changed = Vec::with_capacity(there.len());
        for (key, vectors) in points.into_iter().map(TaggedVectors::into_parts) {
            let id = lower::engine_id(&key);
            if !there.contains(&id) {
                continue;
            }
            // A text without terms: the one that was there goes.
            let empty = vectors.iter().filter(|(_, vector)| vector.is_empty()).map(|(name, _)| name);
            self.delete_vectors(Scoped::to(life)?.among([id]), empty)?;
            if vectors.values().any(|vector| !vector.is_empty()) {
                changed.push(PointVectorsPersisted { id, vector: lower::named(vectors) });
            }
        }
        if changed.is_empty() {
            return Ok(());
        }
        self.engine.change(Scoped::to(life)?, |filter| {
            let update = UpdateVectorsOp { points: changed, update_filter: Some(filter) };
            UpdateOperation::VectorOperation(VectorOperations::UpdateVectors(update))
        })
    }

    fn set_payload(
        &self,
        life: Life,
        selector: &Selector,
        values: Map<String, Value>,
        at: Option<&PayloadKey>,
    ) -> Result<(), BackendError> {
        let Some(selected) = self.selected(life, selector)? else { return Ok(()) };
        let key = at.map(|at| lower::path(at.as_str())).transpose()?;
        self.engine.change(selected, |filter| {
            let set = SetPayloadOp { payload: Payload(values), points: None, filter: Some(filter), key };
            UpdateOperation::PayloadOperation(PayloadOps::SetPayload(set))
        })
    }

    fn delete_vectors<'n>(
        &self,
        selected: Scoped,
        names: impl IntoIterator<Item = &'n VectorName>,
    ) -> Result<(), BackendError> {
        let names: Vec<_> = names.into_iter().map(|name| name.as_str().to_owned()).collect();
        if names.is_empty() {
            return Ok(());
        }
        self.engine.change(selected, |filter| {
            UpdateOperation::VectorOperation(VectorOperations::DeleteVectorsByFilter(filter, names))
        })
    }

    /// What a write selects; `None` where that is nothing for sure. Keys are those of points that are there under their
    /// whole key, which the engine does not know.
    fn selected(&self, life: Life, selector: &Selector) -> Result<Option<Scoped>, BackendError> {
        match selector {
            Selector::Keys(keys) => {
                let ids: Vec<_> =
                    self.held(life, keys, tag_only()?, false)?.into_iter().map(|record| record.id).collect();
                if ids.is_empty() { Ok(None) } else { Scoped::to(life).map(|scoped| Some(scoped.among(ids))) }
            }
            Selector::Matching(condition) => Scoped::to(life)?.meeting(condition).map(Some),
        }
    }

    fn sparse_names(&self) -> Vec<VectorName> {
        use tenancy_vector::VectorKind::{Dense, Multi, Sparse, Text};
        let sparse = self.schema.vectors().filter(|(_, kind)| match kind {
            Sparse | Text(_) => true,
            Dense { .. } | Multi { .. } => false,
        });
        sparse.map(|(name, _)| name.clone()).collect()
    }
}

fn point(point: TaggedPoint) -> PointStructPersisted {
    let (key, vectors, payload): (PointKey, _, _) = point.into_parts();
    PointStructPersisted { id: lower::engine_id(&key), vector: lower::named(vectors), payload: Some(Payload(payload)) }
}
