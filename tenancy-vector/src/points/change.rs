//! From changes to what a back end is asked to write.

use std::collections::{BTreeMap, HashSet};

use super::{Points, ensure_batch};
use crate::error::VectorError;
use crate::filter::{Reduced, take};
use crate::id::ExternalId;
use crate::name::VectorName;
use crate::payload::{PayloadKey, ensure_storable};
use crate::point::Point;
use crate::request::{Selector, TaggedVectors, UpsertMode, Write};
use crate::tag;
use crate::tenant::{Change, Select};
use crate::text;
use crate::vector::Input;

impl Points {
    /// What several changes ask for, in their order; nothing where nothing can be meant.
    pub(crate) fn changes(&self, changes: Vec<Change>) -> Result<Vec<Write>, VectorError> {
        ensure_batch(changes.iter().map(Change::items).sum())?;
        let mut room = Change::MAX_BYTES;
        changes.iter().try_for_each(|change| take(&mut room, change.bytes()?, Change::MAX_BYTES))?;
        let mut writes = Vec::with_capacity(changes.len());
        for change in changes {
            self.lower_change(change, &mut writes)?;
        }
        Ok(writes)
    }

    fn lower_change(&self, change: Change, writes: &mut Vec<Write>) -> Result<(), VectorError> {
        match change {
            Change::Upsert(points) => writes.extend(self.upserts(points, UpsertMode::Replace)?),
            Change::Insert(points) => writes.extend(self.upserts(points, UpsertMode::Insert)?),
            Change::Update(points, filter) => match self.condition(filter.as_ref())? {
                Reduced::Nothing => {}
                Reduced::Everything => writes.extend(self.upserts(points, UpsertMode::Update(None))?),
                Reduced::Some(condition) => {
                    writes.extend(self.upserts(points, UpsertMode::Update(Some(condition)))?);
                }
            },
            Change::SetVectors(points) => self.set_vectors(points, writes)?,
            Change::DeleteVectors(select, names) => {
                if let Some(unknown) = names.iter().find(|name| self.engine.schema.vector(name).is_none()) {
                    return Err(VectorError::UnknownVector(unknown.clone()));
                }
                if let Some(selector) = self.selector(select)?.filter(|_| !names.is_empty()) {
                    writes.push(Write::DeleteVectors(selector, names));
                }
            }
            Change::SetPayload(select, values, at) => {
                if at.as_ref().is_some_and(PayloadKey::goes_through_a_list) {
                    return Err(VectorError::BadKey);
                }
                if let Some(selector) = self.selector(select)?.filter(|_| !values.is_empty()) {
                    writes.push(Write::SetPayload(selector, values, at));
                }
            }
            Change::OverwritePayload(payloads) => {
                let keys = self.owner.keys()?;
                for (id, payload) in payloads {
                    ensure_storable(&payload)?;
                    let key = keys.of(&id);
                    let payload = tag::stamp(self.owner.life(), &key, &id, payload);
                    writes.push(Write::OverwritePayload(key, payload));
                }
            }
            Change::DeletePayload(select, keys) => {
                if keys.iter().any(PayloadKey::goes_through_a_list) {
                    return Err(VectorError::BadKey);
                }
                if let Some(selector) = self.selector(select)?.filter(|_| !keys.is_empty()) {
                    writes.push(Write::DeletePayload(selector, keys));
                }
            }
            Change::Delete(select) => writes.extend(self.selector(select)?.map(Write::Delete)),
        }
        Ok(())
    }

    /// An upsert of points; none without points.
    pub(crate) fn upserts(&self, points: Vec<Point>, mode: UpsertMode) -> Result<Option<Write>, VectorError> {
        ensure_distinct(points.iter().map(Point::id))?;
        if points.is_empty() {
            return Ok(None);
        }
        let keys = self.owner.keys()?;
        let points = points.into_iter().map(|point| self.tagged(&keys, point)).collect::<Result<_, _>>()?;
        Ok(Some(Write::Upsert { points, mode }))
    }

    fn set_vectors(
        &self,
        points: Vec<(ExternalId, Vec<(VectorName, Input)>)>,
        writes: &mut Vec<Write>,
    ) -> Result<(), VectorError> {
        ensure_distinct(points.iter().map(|(id, _)| id))?;
        let (mut set, mut gone) = (Vec::new(), Vec::new());
        let keys = self.owner.keys()?;
        for (id, inputs) in points {
            let key = keys.of(&id);
            let mut vectors = BTreeMap::new();
            for (name, input) in inputs {
                let vector = text::vector(&self.engine.schema, &name, &input, text::Side::Document)?;
                if vector.is_empty() {
                    gone.push(Write::DeleteVectors(Selector::Keys(vec![key]), vec![name]));
                } else if vectors.insert(name.clone(), vector).is_some() {
                    return Err(VectorError::DuplicateName(name));
                }
            }
            if !vectors.is_empty() {
                set.push(TaggedVectors { key, vectors });
            }
        }
        if !set.is_empty() {
            writes.push(Write::SetVectors(set));
        }
        writes.append(&mut gone);
        Ok(())
    }

    fn selector(&self, select: Select) -> Result<Option<Selector>, VectorError> {
        Ok(match select {
            Select::All => Some(Selector::Matching(None)),
            Select::Matching(filter) => match self.condition(Some(&filter))? {
                Reduced::Nothing => None,
                Reduced::Everything => Some(Selector::Matching(None)),
                Reduced::Some(condition) => Some(Selector::Matching(Some(condition))),
            },
            Select::Ids(ids) => {
                let keys: HashSet<_> = self.owner.keys_of(&ids)?.into_iter().collect();
                (!keys.is_empty()).then(|| Selector::Keys(keys.into_iter().collect()))
            }
        })
    }
}

fn ensure_distinct<'a>(ids: impl Iterator<Item = &'a ExternalId>) -> Result<(), VectorError> {
    let mut seen = HashSet::new();
    match ids.into_iter().position(|id| !seen.insert(id)) {
        Some(at) => Err(VectorError::DuplicateId { at }),
        None => Ok(()),
    }
}
