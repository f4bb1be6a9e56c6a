//! What is to be written.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use crate::filter::Condition;
use crate::id::PointKey;
use crate::name::VectorName;
use crate::payload::PayloadKey;
use crate::schema::Schema;
use crate::vector::Vector;

/// Writes, to be done in their order. Their vectors fit the schema.
#[derive(Clone, Debug)]
pub struct WriteRequest {
    pub(crate) schema: Schema,
    pub(crate) writes: Vec<Write>,
}

impl WriteRequest {
    /// The schema of the store.
    #[must_use]
    pub const fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The writes.
    #[must_use]
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// The schema and the writes.
    #[must_use]
    pub fn into_parts(self) -> (Schema, Vec<Write>) {
        (self.schema, self.writes)
    }
}

/// One write. All but an upsert leave what is not there alone.
#[derive(Clone)]
#[expect(clippy::exhaustive_enums, reason = "a back end that misses a write must not compile")]
pub enum Write {
    /// Stores points as a whole. Their keys are distinct.
    Upsert {
        /// The points.
        points: Vec<TaggedPoint>,
        /// Which of them.
        mode: UpsertMode,
    },
    /// Replaces these vectors of points, and leaves their others. Their keys are distinct.
    SetVectors(Vec<TaggedVectors>),
    /// Takes vectors away.
    DeleteVectors(Selector, Vec<VectorName>),
    /// Puts these keys into payloads, at the path where there is one, and leaves others; `null` takes a key away, and what
    /// is at the path and no object gives way to one. None of the keys is ours.
    SetPayload(Selector, Map<String, Value>, Option<PayloadKey>),
    /// Replaces the payload of one point, tag and all.
    OverwritePayload(PointKey, Map<String, Value>),
    /// Takes keys out of payloads. None of them is ours.
    DeletePayload(Selector, Vec<PayloadKey>),
    /// Deletes points.
    Delete(Selector),
}

/// Which points of the life.
#[derive(Clone)]
#[expect(clippy::exhaustive_enums, reason = "a back end that misses a way to select must not compile")]
pub enum Selector {
    /// Those with these keys. Not empty. A list of ids alone would reach whatever has them: it becomes a condition
    /// beside the one on the life.
    Keys(Vec<PointKey>),
    /// Those that meet a condition, or all.
    Matching(Option<Condition>),
}

/// Which points of an upsert are written.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a back end that misses a mode must not compile")]
pub enum UpsertMode {
    /// All.
    Replace,
    /// Those that are not there.
    Insert,
    /// Those that are there, and meet the condition where there is one.
    Update(Option<Condition>),
}

/// A point as it is to be stored.
#[derive(Clone)]
pub struct TaggedPoint {
    pub(crate) key: PointKey,
    pub(crate) vectors: BTreeMap<VectorName, Vector>,
    pub(crate) payload: Map<String, Value>,
}

impl TaggedPoint {
    /// The key.
    #[must_use]
    pub const fn key(&self) -> &PointKey {
        &self.key
    }

    /// The vectors, as they came: the engine normalises for cosine similarity. A sparse one of a text without terms is
    /// empty, and engines want it left out.
    #[must_use]
    pub const fn vectors(&self) -> &BTreeMap<VectorName, Vector> {
        &self.vectors
    }

    /// The payload with the tag.
    #[must_use]
    pub const fn payload(&self) -> &Map<String, Value> {
        &self.payload
    }

    /// The key, the vectors and the payload.
    #[must_use]
    pub fn into_parts(self) -> (PointKey, BTreeMap<VectorName, Vector>, Map<String, Value>) {
        (self.key, self.vectors, self.payload)
    }
}

/// New vectors of a point.
#[derive(Clone)]
pub struct TaggedVectors {
    pub(crate) key: PointKey,
    pub(crate) vectors: BTreeMap<VectorName, Vector>,
}

impl TaggedVectors {
    /// The key.
    #[must_use]
    pub const fn key(&self) -> &PointKey {
        &self.key
    }

    /// The vectors; not empty.
    #[must_use]
    pub const fn vectors(&self) -> &BTreeMap<VectorName, Vector> {
        &self.vectors
    }

    /// The key and the vectors.
    #[must_use]
    pub fn into_parts(self) -> (PointKey, BTreeMap<VectorName, Vector>) {
        (self.key, self.vectors)
    }
}

impl fmt::Debug for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Upsert { points, mode } => write!(f, "Upsert({} points, {mode:?})", points.len()),
            Self::SetVectors(points) => write!(f, "SetVectors({} points)", points.len()),
            Self::DeleteVectors(selector, names) => write!(f, "DeleteVectors({selector:?}, {names:?})"),
            Self::SetPayload(selector, ..) => write!(f, "SetPayload({selector:?})"),
            Self::OverwritePayload(..) => f.write_str("OverwritePayload(..)"),
            Self::DeletePayload(selector, _) => write!(f, "DeletePayload({selector:?})"),
            Self::Delete(selector) => write!(f, "Delete({selector:?})"),
        }
    }
}

impl fmt::Debug for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keys(keys) => write!(f, "{} keys", keys.len()),
            Self::Matching(condition) => condition.fmt(f),
        }
    }
}

impl fmt::Debug for TaggedPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaggedPoint(..)")
    }
}

impl fmt::Debug for TaggedVectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaggedVectors(..)")
    }
}
