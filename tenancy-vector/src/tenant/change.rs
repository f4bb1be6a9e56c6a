//! Writes of every kind, alone or together.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use serde_json::{Map, Value};
use tenancy_core::{Denial, Entered};

use super::{TenantVectors, end, ensure_batch, run_to_the_end};
use crate::error::VectorError;
use crate::filter::{Filter, Reduced};
use crate::id::{ExternalId, PointKey};
use crate::name::VectorName;
use crate::payload::{PayloadKey, ensure_storable};
use crate::point::Point;
use crate::request::{Selector, TaggedVectors, UpsertMode, Write};
use crate::tag;
use crate::text;
use crate::vector::Input;

/// One change of the tenant's points. All but the first two leave alone what is not there, without an error.
#[derive(Clone)]
#[expect(clippy::exhaustive_enums, reason = "a kind of change is a decision, not an addition")]
pub enum Change {
    /// Stores points, replacing those with the same id.
    Upsert(Vec<Point>),
    /// Stores the points whose ids are not there.
    Insert(Vec<Point>),
    /// Replaces the points whose ids are there, and which meet the filter where there is one.
    Update(Vec<Point>, Option<Filter>),
    /// Replaces these vectors of points and leaves their others. A text without words takes the vector away.
    SetVectors(Vec<(ExternalId, Vec<(VectorName, Input)>)>),
    /// Takes vectors away.
    DeleteVectors(Select, Vec<VectorName>),
    /// Puts these keys into payloads, or into the object at a key within them, and leaves others. A `null` takes a key
    /// away.
    SetPayload(Select, Map<String, Value>, Option<PayloadKey>),
    /// Replaces payloads, point by point.
    OverwritePayload(Vec<(ExternalId, Map<String, Value>)>),
    /// Takes keys out of payloads.
    DeletePayload(Select, Vec<PayloadKey>),
    /// Deletes points.
    Delete(Select),
}

/// Which of the tenant's points.
#[derive(Clone)]
#[expect(clippy::exhaustive_enums, reason = "a way to select is a decision, not an addition")]
pub enum Select {
    /// Those with these ids. None of them: none.
    Ids(Vec<ExternalId>),
    /// Those that meet a filter.
    Matching(Filter),
    /// All that the tenant has.
    All,
}

impl TenantVectors {
    /// Makes changes, one after the other, in as few requests as the back end needs. Not atomic: a failure may leave
    /// some made; made again, they leave what they would have left. Versions of documents as with
    /// [`upsert`](Self::upsert).
    ///
    /// # Errors
    /// Those of the parts against the schema, with nothing changed; [`VectorError::TooMany`] for more than
    /// [`MAX_BATCH`](Self::MAX_BATCH) points and ids together; [`VectorError::Unsettled`], with everything changed;
    /// [`VectorError::Backend`].
    pub async fn change(&self, changes: Vec<Change>) -> Result<(), VectorError> {
        let this = self.clone();
        run_to_the_end(async move {
            let entered = this.pass.enter("vectors.change").await?;
            let changed = this.make_changes(&entered, changes).await;
            end(entered, changed, Entered::changed)
        })
        .await
    }

    async fn make_changes(&self, entered: &Entered<'_>, changes: Vec<Change>) -> Result<(), VectorError> {
        ensure_batch(changes.iter().map(Change::items).sum())?;
        let mut writes = Vec::with_capacity(changes.len());
        for change in changes {
            self.lower_change(entered, change, &mut writes)?;
        }
        if writes.is_empty() { Ok(()) } else { self.do_writes(entered, writes).await }
    }

    fn lower_change(&self, entered: &Entered<'_>, change: Change, writes: &mut Vec<Write>) -> Result<(), VectorError> {
        match change {
            Change::Upsert(points) => writes.extend(self.upserts(entered, points, UpsertMode::Replace)?),
            Change::Insert(points) => writes.extend(self.upserts(entered, points, UpsertMode::Insert)?),
            Change::Update(points, filter) => match self.condition(entered, filter.as_ref())? {
                Reduced::Nothing => {}
                Reduced::Everything => writes.extend(self.upserts(entered, points, UpsertMode::Update(None))?),
                Reduced::Some(condition) => {
                    writes.extend(self.upserts(entered, points, UpsertMode::Update(Some(condition)))?);
                }
            },
            Change::SetVectors(points) => self.set_vectors(entered, points, writes)?,
            Change::DeleteVectors(select, names) => {
                if names.iter().any(|name| self.engine.schema.vector(name).is_none()) {
                    return Err(VectorError::UnknownVector);
                }
                if let Some(selector) = self.selector(entered, select)?.filter(|_| !names.is_empty()) {
                    writes.push(Write::DeleteVectors(selector, names));
                }
            }
            Change::SetPayload(select, values, at) => {
                ensure_storable(&values)?;
                if at.as_ref().is_some_and(PayloadKey::goes_through_a_list) {
                    return Err(VectorError::BadKey);
                }
                if let Some(selector) = self.selector(entered, select)?.filter(|_| !values.is_empty()) {
                    writes.push(Write::SetPayload(selector, values, at));
                }
            }
            Change::OverwritePayload(payloads) => {
                for (id, payload) in payloads {
                    ensure_storable(&payload)?;
                    let key = PointKey::derive(entered.context(), &id)?;
                    let payload = tag::stamp(entered.context().life(), &key, &id, payload);
                    writes.push(Write::OverwritePayload(key, payload));
                }
            }
            Change::DeletePayload(select, keys) => {
                if keys.iter().any(PayloadKey::goes_through_a_list) {
                    return Err(VectorError::BadKey);
                }
                if let Some(selector) = self.selector(entered, select)?.filter(|_| !keys.is_empty()) {
                    writes.push(Write::DeletePayload(selector, keys));
                }
            }
            Change::Delete(select) => writes.extend(self.selector(entered, select)?.map(Write::Delete)),
        }
        Ok(())
    }

    /// An upsert of points; none without points.
    pub(super) fn upserts(
        &self,
        entered: &Entered<'_>,
        points: Vec<Point>,
        mode: UpsertMode,
    ) -> Result<Option<Write>, VectorError> {
        ensure_distinct(points.iter().map(Point::id))?;
        if points.is_empty() {
            return Ok(None);
        }
        let points = points.into_iter().map(|point| self.tagged(entered, point)).collect::<Result<_, _>>()?;
        Ok(Some(Write::Upsert { points, mode }))
    }

    fn set_vectors(
        &self,
        entered: &Entered<'_>,
        points: Vec<(ExternalId, Vec<(VectorName, Input)>)>,
        writes: &mut Vec<Write>,
    ) -> Result<(), VectorError> {
        ensure_distinct(points.iter().map(|(id, _)| id))?;
        let (mut set, mut gone) = (Vec::new(), Vec::new());
        for (id, inputs) in points {
            let key = PointKey::derive(entered.context(), &id)?;
            let mut vectors = BTreeMap::new();
            for (name, input) in inputs {
                let vector = text::vector(&self.engine.schema, &name, &input, text::Side::Document)?;
                if vector.is_empty() {
                    gone.push(Write::DeleteVectors(Selector::Keys(vec![key]), vec![name]));
                } else if vectors.insert(name, vector).is_some() {
                    return Err(VectorError::DuplicateName);
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

    fn selector(&self, entered: &Entered<'_>, select: Select) -> Result<Option<Selector>, VectorError> {
        Ok(match select {
            Select::All => Some(Selector::Matching(None)),
            Select::Matching(filter) => match self.condition(entered, Some(&filter))? {
                Reduced::Nothing => None,
                Reduced::Everything => Some(Selector::Matching(None)),
                Reduced::Some(condition) => Some(Selector::Matching(Some(condition))),
            },
            Select::Ids(ids) => {
                let keys: HashSet<_> =
                    ids.iter().map(|id| PointKey::derive(entered.context(), id)).collect::<Result<_, Denial>>()?;
                (!keys.is_empty()).then(|| Selector::Keys(keys.into_iter().collect()))
            }
        })
    }
}

impl Change {
    fn items(&self) -> usize {
        match self {
            Self::Upsert(points) | Self::Insert(points) | Self::Update(points, _) => points.len(),
            Self::SetVectors(points) => points.len(),
            Self::OverwritePayload(payloads) => payloads.len(),
            Self::DeleteVectors(select, _)
            | Self::SetPayload(select, ..)
            | Self::DeletePayload(select, _)
            | Self::Delete(select) => match select {
                Select::Ids(ids) => ids.len(),
                Select::Matching(_) | Select::All => 1,
            },
        }
    }
}

fn ensure_distinct<'a>(ids: impl Iterator<Item = &'a ExternalId>) -> Result<(), VectorError> {
    let mut seen = HashSet::new();
    if ids.into_iter().all(|id| seen.insert(id)) { Ok(()) } else { Err(VectorError::DuplicateId) }
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Upsert(_) => "Upsert(..)",
            Self::Insert(_) => "Insert(..)",
            Self::Update(..) => "Update(..)",
            Self::SetVectors(_) => "SetVectors(..)",
            Self::DeleteVectors(..) => "DeleteVectors(..)",
            Self::SetPayload(..) => "SetPayload(..)",
            Self::OverwritePayload(_) => "OverwritePayload(..)",
            Self::DeletePayload(..) => "DeletePayload(..)",
            Self::Delete(_) => "Delete(..)",
        })
    }
}

impl fmt::Debug for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ids(ids) => write!(f, "Ids({})", ids.len()),
            Self::Matching(filter) => f.debug_tuple("Matching").field(filter).finish(),
            Self::All => f.write_str("All"),
        }
    }
}
