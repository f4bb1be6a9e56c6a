//! Puts the tag on what goes into a store and checks it on everything that comes out.

use serde_json::{Map, Value, json};
use tenancy_core::{Denial, Life};

use crate::error::VectorError;
use crate::id::{ExternalId, PointKey};
use crate::points::Keys;
use crate::reserved;

/// A payload with the tag of a point.
pub(crate) fn stamp(
    life: Life,
    key: &PointKey,
    id: &ExternalId,
    mut payload: Map<String, Value>,
) -> Map<String, Value> {
    let tag = Tag { life: reserved::life(life), digest: key.digest(), id: id.as_str().to_owned() };
    tag.put(&mut payload);
    payload
}

/// The tag of a stored point as a store answered it: three texts, and nothing compared yet.
#[derive(Clone)]
pub(crate) struct Tag {
    pub(crate) life: String,
    pub(crate) digest: String,
    pub(crate) id: String,
}

impl Tag {
    /// Takes the tag out of a payload. One of any other form is none: an engine takes a list of lives as a match for each
    /// of them.
    pub(crate) fn take(payload: &mut Map<String, Value>) -> Option<Self> {
        let Some(Value::Object(mut tag)) = payload.remove(reserved::KEY) else { return None };
        let mut text = |name| match tag.remove(name) {
            Some(Value::String(text)) => Some(text),
            _other => None,
        };
        let taken = Self { life: text(reserved::LIFE)?, digest: text(reserved::DIGEST)?, id: text(reserved::ID)? };
        tag.is_empty().then_some(taken)
    }

    /// Puts it back.
    pub(crate) fn put(self, payload: &mut Map<String, Value>) {
        let tag = json!({ reserved::LIFE: self.life, reserved::DIGEST: self.digest, reserved::ID: self.id });
        payload.insert(reserved::KEY.to_owned(), tag);
    }

    /// Checks that the point is this owner's: its life is ours, and its digest is the one that only our key makes of its
    /// external id.
    pub(crate) fn check(self, keys: &Keys<'_>) -> Result<(ExternalId, PointKey), Denial> {
        if !keys.is_life(&self.life) {
            return Err(Denial::StoreBreach);
        }
        let id = ExternalId::parse(&self.id).map_err(|_: VectorError| Denial::StoreBreach)?;
        let key = keys.of(&id);
        if key.has_digest(&self.digest) { Ok((id, key)) } else { Err(Denial::StoreBreach) }
    }
}
