//! Puts the tag on what goes into a store and checks it on everything that comes out.

use serde_json::{Map, Value, json};
use tenancy_core::{Denial, Life};

use crate::error::VectorError;
use crate::id::{ExternalId, PointKey};
use crate::points::Owner;
use crate::reserved;

/// A payload with the tag of a point.
pub(crate) fn stamp(
    life: Life,
    key: &PointKey,
    id: &ExternalId,
    mut payload: Map<String, Value>,
) -> Map<String, Value> {
    let tag = json!({
        reserved::LIFE: reserved::life(life),
        reserved::DIGEST: key.digest(),
        reserved::ID: id.as_str(),
    });
    payload.insert(reserved::KEY.to_owned(), tag);
    payload
}

/// What an answer is once its tag was checked.
pub(crate) struct Checked {
    pub(crate) id: ExternalId,
    pub(crate) key: PointKey,
    /// The caller's part.
    pub(crate) payload: Map<String, Value>,
}

/// Checks that an answer of a store is this owner's: its life is ours, and its digest is the one that only our key
/// makes of its external id.
///
/// A tag of any other form is a breach too: an engine takes a list of lives as a match for each of them.
pub(crate) fn check(owner: &Owner, mut payload: Map<String, Value>) -> Result<Checked, Denial> {
    let tag = payload.remove(reserved::KEY).ok_or(Denial::StoreBreach)?;
    let tag = tag.as_object().filter(|tag| tag.len() == 3).ok_or(Denial::StoreBreach)?;
    let text = |name| tag.get(name).and_then(Value::as_str).ok_or(Denial::StoreBreach);
    let life = text(reserved::LIFE)?;
    // Only the one form we write: an engine that compares texts would not have matched another.
    if life != reserved::life(owner.life()) {
        return Err(Denial::StoreBreach);
    }
    let id = ExternalId::parse(text(reserved::ID)?).map_err(|_: VectorError| Denial::StoreBreach)?;
    let key = owner.key(&id)?;
    if text(reserved::DIGEST)? != key.digest() {
        return Err(Denial::StoreBreach);
    }
    Ok(Checked { id, key, payload })
}
