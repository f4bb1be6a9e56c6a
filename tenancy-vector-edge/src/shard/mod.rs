//! One open shard: the points of one life.

mod diverse;
mod read;
mod scoped_engine;
mod search;
#[cfg(test)]
mod tests;
mod write;

use std::collections::HashMap;
use std::sync::Mutex;

use qdrant_edge::external::uuid::Uuid;
use qdrant_edge::{EdgeShard, PayloadSelectorInclude, PointId, Record, WithPayloadInterface};
use tenancy_core::Life;
use tenancy_vector::{BackendError, PointKey, Schema, reserved};

use self::scoped_engine::ScopedEngine;
use crate::engine;
use crate::files::ShardFiles;
use crate::lower;

/// An open shard. Every method blocks, and every request to the engine carries the condition on the life.
#[derive(Debug)]
pub(crate) struct Shard {
    engine: ScopedEngine,
    schema: Schema,
    /// One write at a time: what is looked up before a write holds until it, and the engine's `flush` panics when it
    /// meets a write.
    writing: Mutex<()>,
}

impl Shard {
    pub(crate) fn make(files: &ShardFiles, schema: Schema) -> Result<Self, BackendError> {
        files.make().map_err(BackendError::failed)?;
        let engine = ScopedEngine::new(EdgeShard::new(files.directory(), engine::config(&schema)))?;
        for index in engine::indexes(&schema)? {
            engine.update(index)?;
        }
        engine.flush();
        files.write_manifest(&schema).map_err(BackendError::failed)?;
        Ok(Self { engine, schema, writing: Mutex::new(()) })
    }

    pub(crate) fn load(files: &ShardFiles, schema: Schema) -> Result<Self, BackendError> {
        let engine = ScopedEngine::new(EdgeShard::load(files.directory(), Some(engine::config(&schema))))?;
        Ok(Self { engine, schema, writing: Mutex::new(()) })
    }

    fn ensure_made_for(&self, schema: &Schema) -> Result<(), BackendError> {
        if self.schema == *schema { Ok(()) } else { Err(BackendError::unfit("the shard was made for another schema")) }
    }
}

/// The whole keys behind engine ids.
struct Digests(HashMap<Uuid, String>);

impl Digests {
    fn of<'k>(keys: impl IntoIterator<Item = &'k PointKey>) -> Self {
        Self(keys.into_iter().map(|key| (key.engine_id(), key.digest())).collect())
    }

    /// Whether a record is the point that the key with its id names, in this life.
    fn hold(&self, record: &Record, life: Life) -> bool {
        let PointId::Uuid(id) = record.id else { return false };
        let Some(payload) = &record.payload else { return false };
        reserved::text(&payload.0, reserved::DIGEST) == self.0.get(&id).map(String::as_str)
            && reserved::text(&payload.0, reserved::LIFE) == Some(&reserved::life(life))
    }
}

fn tag_only() -> Result<WithPayloadInterface, BackendError> {
    Ok(PayloadSelectorInclude::new(vec![lower::path(reserved::KEY)?]).into())
}
