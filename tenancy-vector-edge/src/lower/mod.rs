//! From our requests to the engine's.

mod condition;
mod query;
mod scoped;
mod vector;

pub(crate) use query::{SAMPLE, ordered, query, scoring};
pub(crate) use scoped::Scoped;
pub(crate) use vector::{from_engine, named};

use qdrant_edge::{JsonPath, PointId};
use tenancy_vector::{BackendError, PointKey};

pub(crate) fn engine_id(key: &PointKey) -> PointId {
    PointId::Uuid(key.engine_id())
}

pub(crate) fn path(path: &str) -> Result<JsonPath, BackendError> {
    path.parse().map_err(|()| BackendError::because("a path that the engine does not take"))
}
