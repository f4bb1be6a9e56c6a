//! Writes.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;

use qdrant_edge::{
    DeletePayloadOp, Payload, PayloadOps, PointId, PointOperations, PointStructPersisted, PointVectorsPersisted,
    SetPayloadOp, UpdateOperation, UpdateVectorsOp, VectorOperations, VectorStructPersisted,
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
                self.delete_vectors(selected, &names).map(drop)
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
                self.delete(life, selected)
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
        if points.is_empty() {
            return Ok(());
        }
        let points: Vec<_> = points.into_iter().map(point).collect();
        let lacking = points.iter().filter(|point| there.contains(&point.id) && self.lacks(point)).cloned().collect();
        self.engine.put(points)?;
        self.put_again(lacking)
    }

    /// Where the engine moves a point to another segment, it takes along the vectors that the new version does not
    /// bring: it would still be found by what it does not say any more. In its new place it is replaced as a whole.
    fn put_again(&self, points: Vec<PointStructPersisted>) -> Result<(), BackendError> {
        if points.is_empty() { Ok(()) } else { self.engine.put(points) }
    }

    fn lacks(&self, point: &PointStructPersisted) -> bool {
        let brought = match &point.vector {
            VectorStructPersisted::Named(named) => named.len(),
            VectorStructPersisted::Single(_) | VectorStructPersisted::MultiDense(_) => 1,
        };
        brought < self.schema.vectors().count()
    }

    /// Takes vectors away by storing the points without them; the ids of all that were selected. The engine's own
    /// deletion of a vector leaves its terms in the counts.
    fn delete_vectors(&self, selected: Scoped, names: &[VectorName]) -> Result<Vec<PointId>, BackendError> {
        let records = self.scroll(selected, None, true.into(), true, usize::MAX)?;
        let (mut ids, mut without) = (Vec::with_capacity(records.len()), Vec::new());
        for record in records {
            let id = record.id;
            ids.push(id);
            let mut vectors = lower::from_engine(record.vector)?;
            let before = vectors.len();
            vectors.retain(|name, _| !names.contains(name));
            if vectors.len() < before {
                without.push(PointStructPersisted { id, vector: lower::named(vectors), payload: record.payload });
            }
        }
        if !without.is_empty() {
            self.engine.put(without.clone())?;
            self.put_again(without)?;
        }
        Ok(ids)
    }

    /// Deletes points, their terms first: the engine goes on counting those of a deleted point. It falls over a payload that
    /// it can't read: then terms go on being counted, and it is asked again, once for each such point, whose tag it has
    /// forgotten by then.
    fn delete(&self, life: Life, selected: Scoped) -> Result<(), BackendError> {
        let ids = match survived(|| self.delete_vectors(selected.clone(), &self.sparse_names())) {
            Some(ids) => ids?,
            None => self.ids(selected)?,
        };
        // By their ids: what was asked for may be on the vectors that went first.
        let those = || Ok::<_, BackendError>(Scoped::to(life)?.among(ids.iter().copied()));
        let mut left = usize::MAX;
        while survived(|| self.delete_those(those()?)).transpose()?.is_none() {
            let before = left;
            left = self.ids(those()?)?.len();
            if left >= before {
                return Err(BackendError::because("the engine can't delete a point"));
            }
        }
        // Or they would take the place of the next point with their id.
        if left == usize::MAX { Ok(()) } else { self.delete_those(Scoped::nobodys(ids)?) }
    }

    fn delete_those(&self, those: Scoped) -> Result<(), BackendError> {
        self.engine
            .change(those, |filter| UpdateOperation::PointOperation(PointOperations::DeletePointsByFilter(filter)))
    }

    /// The ids of points, whose payloads are not read.
    fn ids(&self, selected: Scoped) -> Result<Vec<PointId>, BackendError> {
        let records = self.scroll(selected, None, false.into(), false, usize::MAX)?;
        Ok(records.into_iter().map(|record| record.id).collect())
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
            let empty: Vec<_> =
                vectors.iter().filter(|(_, vector)| vector.is_empty()).map(|(name, _)| name.clone()).collect();
            if !empty.is_empty() {
                self.delete_vectors(Scoped::to(life)?.among([id]), &empty)?;
            }
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

/// What came of it, or nothing where the engine fell over it.
fn survived<T>(act: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(act)).ok()
}

fn point(point: TaggedPoint) -> PointStructPersisted {
    let (key, vectors, payload): (PointKey, _, _) = point.into_parts();
    PointStructPersisted { id: lower::engine_id(&key), vector: lower::named(vectors), payload: Some(Payload(payload)) }
}
