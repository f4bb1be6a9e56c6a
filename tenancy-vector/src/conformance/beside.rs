//! Each kind of write, beside a point that it is not about.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tenancy_core::TenantContext;

use super::corpus::{self, DIMENSION, object};
use super::trial::{Fault, ensure};
use crate::backend::VectorBackend;
use crate::error::{BackendError, VectorError};
use crate::filter::Condition;
use crate::id::{ExternalId, PointKey};
use crate::name::VectorName;
use crate::request::{Selector, TaggedPoint, TaggedVectors, UpsertMode, Write};
use crate::scope::VectorScope;
use crate::tag;
use crate::vector::{DenseVector, Vector};

/// Writes that are about a key of the owner's, in words.
pub(super) fn by_key(
    owner: &TenantContext,
    key: PointKey,
    id: &ExternalId,
) -> Result<Vec<(&'static str, Write)>, VectorError> {
    let payload = tag::stamp(owner.life(), &key, id, other());
    let vectors = || Ok::<_, VectorError>(BTreeMap::from([(VectorName::dense(), dense()?)]));
    let point = || Ok::<_, VectorError>(TaggedPoint { key, vectors: vectors()?, payload: payload.clone() });
    let update =
        |condition| Ok::<_, VectorError>(Write::Upsert { points: vec![point()?], mode: UpsertMode::Update(condition) });
    let mut writes = vec![
        ("vectors set by key", Write::SetVectors(vec![TaggedVectors { key, vectors: vectors()? }])),
        ("a payload replaced", Write::OverwritePayload(key, payload.clone())),
        ("an update by key", update(None)?),
        ("an update by key that names it again", update(Some(Condition::HasId(vec![key])))?),
    ];
    let kinds = selected(&Selector::Keys(vec![key]))?;
    writes.extend(
        ["vectors deleted by key", "keys set by key", "keys deleted by key", "a deletion by key"]
            .into_iter()
            .zip(kinds),
    );
    Ok(writes)
}

/// Writes that are about all of one's points, in words.
pub(super) fn of_all() -> Result<Vec<(&'static str, Write)>, VectorError> {
    let kinds = selected(&Selector::Matching(None))?;
    Ok(["vectors deleted in all", "keys set in all", "keys deleted in all", "a deletion of all"]
        .into_iter()
        .zip(kinds)
        .collect())
}

/// Each kind that selects points; the deletion last.
fn selected(those: &Selector) -> Result<[Write; 4], VectorError> {
    Ok([
        Write::DeleteVectors(those.clone(), vec![VectorName::sparse()]),
        Write::SetPayload(those.clone(), other(), None),
        Write::DeletePayload(those.clone(), vec![corpus::key("rank")?]),
        Write::Delete(those.clone()),
    ])
}

/// A write leaves alone what it does not find, or says that its place is taken.
pub(super) fn passed_by(written: Result<(), BackendError>) -> Result<(), Fault> {
    match written {
        Ok(()) | Err(BackendError::Collision) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A place that another point has is not written to.
pub(super) fn taken(written: &Result<(), BackendError>, rule: &'static str) -> Result<(), Fault> {
    ensure(matches!(written, Err(BackendError::Collision)), rule)
}

/// A point as it is stored, where the scope sees it.
pub(super) async fn stored(
    backend: &dyn VectorBackend,
    scope: &VectorScope<'_>,
    key: PointKey,
) -> Result<Vec<(Map<String, Value>, BTreeMap<VectorName, Vector>)>, BackendError> {
    let found = backend.retrieve(scope, vec![key], true).await?;
    Ok(found.into_iter().map(crate::StoredPayload::into_parts).collect())
}

fn other() -> Map<String, Value> {
    object(json!({"label": "blue"}))
}

/// Another direction than that of the points that are there: engines keep no lengths.
fn dense() -> Result<Vector, VectorError> {
    DenseVector::new(vec![-1.0; DIMENSION]).map(Vector::from)
}
