//! Writes of every kind, alone or together.

use std::fmt;

use serde_json::{Map, Value};
use tenancy_core::Entered;

use super::{TenantVectors, end, run_to_the_end};
use crate::error::VectorError;
use crate::filter::Filter;
use crate::id::ExternalId;
use crate::name::VectorName;
use crate::payload::{PayloadKey, ensure_storable_at};
use crate::point::Point;
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
    /// [`MAX_BATCH`](Self::MAX_BATCH) points and ids together; [`VectorError::TooHeavy`] beyond [`Change::MAX_BYTES`];
    /// [`VectorError::Unsettled`], with everything changed;
    /// [`VectorError::Backend`].
    pub async fn change(&self, changes: Vec<Change>) -> Result<(), VectorError> {
        let this = self.clone();
        run_to_the_end(async move {
            let entered = this.pass.enter("vectors.change").await?;
            let changed = this.make_changes(&entered, changes).await;
            end(entered, changed, this.wrote())
        })
        .await
    }

    async fn make_changes(&self, entered: &Entered<'_>, changes: Vec<Change>) -> Result<(), VectorError> {
        let writes = self.points.changes(changes)?;
        if writes.is_empty() { Ok(()) } else { self.do_writes(entered, writes).await }
    }
}

impl Change {
    /// The most bytes of the changes of one call: of their filters, keys, names and the values that they set. Points, vectors
    /// and payloads to overwrite do not count: they are bounded one by one, and sent in portions.
    pub const MAX_BYTES: usize = 16 * 1024 * 1024;

    /// How many of them it has.
    ///
    /// # Errors
    /// Those of its filter and its values.
    pub(crate) fn bytes(&self) -> Result<usize, VectorError> {
        let keys = |keys: &[PayloadKey]| keys.iter().map(|key| NAME + key.as_str().len()).sum::<usize>();
        let filter = |filter: Option<&Filter>| filter.map_or(Ok(0), Filter::ensure_sound);
        Ok(match self {
            Self::Upsert(_) | Self::Insert(_) | Self::OverwritePayload(_) => 0,
            Self::Update(_, condition) => filter(condition.as_ref())?,
            Self::SetVectors(points) => points.iter().map(|(_, inputs)| NAME * inputs.len()).sum(),
            Self::DeleteVectors(select, names) => filter(select.filter())? + NAME * names.len(),
            Self::SetPayload(select, values, at) => filter(select.filter())? + ensure_storable_at(values, at.as_ref())?,
            Self::DeletePayload(select, paths) => filter(select.filter())? + keys(paths),
            Self::Delete(select) => filter(select.filter())?,
        })
    }

    pub(crate) fn items(&self) -> usize {
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

impl Select {
    const fn filter(&self) -> Option<&Filter> {
        match self {
            Self::Matching(filter) => Some(filter),
            Self::Ids(_) | Self::All => None,
        }
    }
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

/// A name takes at most so many bytes, and a key so many beside its own.
const NAME: usize = 64;
