//! The keys of an owner's points.

use std::fmt;

use tenancy_core::Names;
use tenancy_core::purpose::PointId;

use super::Owner;
use crate::id::{ExternalId, PointKey};

/// Makes the keys of an owner's points, for one write or one answer.
pub(crate) struct Keys<'o> {
    pub(crate) owner: &'o Owner,
    names: Names<'o, PointId>,
    /// The life as the tags have it.
    life: [u8; LIFE],
}

impl<'o> Keys<'o> {
    pub(super) fn new(owner: &'o Owner, names: Names<'o, PointId>) -> Self {
        let mut life = [0; LIFE];
        let _text = owner.life().uuid().hyphenated().encode_lower(&mut life);
        Self { owner, names, life }
    }

    pub(crate) fn of(&self, id: &ExternalId) -> PointKey {
        PointKey::of(&self.names.derive(&PointKey::fields(id)))
    }

    /// Only the one form that we write: an engine that compares texts would not have matched another.
    pub(crate) fn is_life(&self, text: &str) -> bool {
        text.as_bytes() == self.life
    }
}

impl fmt::Debug for Keys<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(..)")
    }
}

const LIFE: usize = uuid::fmt::Hyphenated::LENGTH;
