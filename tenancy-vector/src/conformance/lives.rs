//! What keeps lives apart within a back end, and how a partition ends.

use std::collections::BTreeMap;

use serde_json::{Map, json};
use tenancy_core::{Denial, TenantContext};

use super::beside::{by_key, of_all, passed_by, stored, taken};
use super::corpus::{self, DIMENSION, Numbers, object, schema};
use super::questions::anything;
use super::trial::{Fault, Trial, ensure, equal};
use crate::backend::VectorBackend;
use crate::error::{BackendError, VectorError};
use crate::id::{ExternalId, PointKey};
use crate::name::VectorName;
use crate::query::VectorQuery;
use crate::request::{
    CountRequest, FacetRequest, Order, Position, ScrollRequest, Selector, TaggedPoint, UpsertMode, Write, WriteRequest,
};
use crate::schema::Schema;
use crate::scope::{DropScope, WriteScope};
use crate::tag;
use crate::vector::{DenseVector, SparseVector};

/// What was prepared can be prepared again.
pub(super) async fn prepare(trial: &mut Trial<'_>) -> Result<(), Fault> {
    for what in ["to prepare", "to prepare once more"] {
        trial.asks(what);
        trial.backend.prepare(&schema()?).await?;
    }
    Ok(())
}

/// A partition takes no points of another schema.
pub(super) async fn other_schemas(trial: &mut Trial<'_>) -> Result<(), Fault> {
    let point = corpus::point("first", &mut Numbers::new(14))?;
    let (mine, _) = trial.with(std::slice::from_ref(&point)).await?;
    trial.asks("a point of another dimension");
    let entered = mine.pass.enter("conformance").await?;
    let id = corpus::id("second")?;
    let key = PointKey::of_bytes([3; 32]);
    let dense = DenseVector::new(vec![1.0; DIMENSION + 1])?;
    let payload = tag::stamp(trial.one.life(), &key, &id, Map::new());
    let points = vec![TaggedPoint { key, vectors: BTreeMap::from([(VectorName::dense(), dense.into())]), payload }];
    let write = Write::Upsert { points, mode: UpsertMode::Replace };
    let other = WriteRequest { schema: Schema::hybrid(DIMENSION + 1)?, writes: vec![write] };
    let written = trial.backend.write(&mine.write_scope(&entered), other).await;
    entered.done();
    // A server may say it in its own words.
    ensure(written.is_err(), "a partition refuses points of another schema")?;
    equal(mine.count(None).await?, 1, "nothing is written of points of another schema")?;
    trial.clear(&mine, &[point]).await
}

/// Two points that share an engine id but not the digest are told apart: the second is not written over the first, nor
/// found, changed or deleted in its place.
pub(super) async fn engine_ids(trial: &mut Trial<'_>) -> Result<(), Fault> {
    trial.asks("two keys with one engine id");
    let (mine, backend, context) = (trial.mine()?, trial.backend, trial.one);
    let entered = mine.pass.enter("conformance").await?;
    let mut twin = [7; 32];
    twin[31] = 8;
    let (first, twin) = (PointKey::of_bytes([7; 32]), PointKey::of_bytes(twin));
    let id = corpus::id("twin")?;
    let write = |keys: &[PointKey], mode| request(context, keys, &id, mode);
    let scope = mine.write_scope(&entered);

    backend.write(&scope, write(&[first], UpsertMode::Replace)?).await?;
    for mode in [UpsertMode::Replace, UpsertMode::Insert] {
        taken(&backend.write(&scope, write(&[twin], mode)?).await, "a taken engine id is a collision")?;
    }
    ensure(backend.retrieve(&scope, vec![twin], false).await?.is_empty(), "a point is not found under another digest")?;
    let there = stored(backend, &scope, first).await?;
    equal(there.len() as u64, 1, "the first point is still there")?;
    for (what, write) in by_key(context, twin, &id)? {
        trial.asks(format!("beside a key with the same engine id: {what}"));
        passed_by(backend.write(&scope, writes(vec![write])?).await)?;
        let unchanged = stored(backend, &scope, first).await? == there;
        ensure(unchanged, "a point is not changed or deleted under another digest")?;
    }
    trial.asks("two keys with one engine id in one call");
    equal(delete(trial, &scope, first).await?, 1, "a point is deleted under its own digest")?;
    let both = backend.write(&scope, write(&[first, twin], UpsertMode::Replace)?).await;
    taken(&both, "two points of one call may not share an engine id")?;
    equal(backend.count(&scope, all()).await?, 0, "a collision writes nothing")?;
    entered.done();
    Ok(())
}

/// A point that carries another life is not seen, changed, deleted or written over, even in one's own partition. This is
/// what the condition on the life is for.
///
/// The stray point stays in the partition of the first context.
pub(super) async fn life_condition(trial: &mut Trial<'_>) -> Result<(), Fault> {
    let (mine, backend) = (trial.mine()?, trial.backend);
    let entered = mine.pass.enter("conformance").await?;
    let scope = mine.write_scope(&entered);
    let key = PointKey::of_bytes([9; 32]);
    let id = corpus::id("stray")?;
    trial.asks("a point of another life to be stored");
    // A back end that looks for what it wrote does not find it.
    let stray = backend.write(&scope, request(trial.two, &[key], &id, UpsertMode::Replace)?).await;
    ensure(matches!(stray, Ok(()) | Err(BackendError::Collision)), "a point of another life is stored, or missed")?;
    trial.asks("reads beside a point of another life");
    equal(backend.count(&scope, all()).await?, 0, "a point of another life is not counted")?;
    ensure(backend.retrieve(&scope, vec![key], false).await?.is_empty(), "a point of another life is not found")?;
    let facet = FacetRequest { key: corpus::key("label")?, condition: None, limit: 9 };
    ensure(backend.facet(&scope, facet).await?.is_empty(), "a value of another life is not counted")?;
    for position in [Position::After(None), Position::Ordered(Order::ascending(corpus::key("rank")?))] {
        let page = ScrollRequest { condition: None, limit: 9, position, vectors: false };
        ensure(backend.scroll(&scope, page).await?.is_empty(), "a point of another life is on no page")?;
    }
    for query in [
        anything()?,
        VectorQuery::sparse(terms()?)?,
        VectorQuery::hybrid(vec![1.0; DIMENSION], terms()?)?,
        VectorQuery::ordered(Order::ascending(corpus::key("rank")?)),
        VectorQuery::sample(),
    ] {
        ensure(mine.query(&query).await?.is_empty(), "a point of another life is no hit")?;
    }
    let theirs = trial.theirs()?;
    let other = theirs.pass.enter("conformance").await?;
    // Its own life sees it where lives share a place.
    let there = stored(backend, &theirs.scope(&other), key).await?;
    for (what, write) in by_key(trial.one, key, &id)?.into_iter().chain(of_all()?) {
        trial.asks(format!("beside a point of another life: {what}"));
        passed_by(backend.write(&scope, writes(vec![write])?).await)?;
        equal(backend.count(&scope, all()).await?, 0, "a point of another life is not taken over")?;
        let unchanged = stored(backend, &theirs.scope(&other), key).await? == there;
        ensure(unchanged, "a point of another life is not changed or deleted")?;
    }
    trial.asks("an upsert in the place of a point of another life");
    for mode in [UpsertMode::Insert, UpsertMode::Replace] {
        let over = backend.write(&scope, request(trial.one, &[key], &id, mode)?).await;
        taken(&over, "a point of another life is not deleted or written over")?;
    }
    other.done();
    entered.done();
    Ok(())
}

/// A place is given up when nothing is in it alone, and comes back with the next write.
pub(super) async fn vacating(trial: &mut Trial<'_>) -> Result<(), Fault> {
    trial.asks("to vacate a place with a point in it");
    let mine = trial.mine()?;
    let point = corpus::point("stays", &mut Numbers::new(15))?;
    mine.upsert(vec![point.clone()]).await?;
    let entered = mine.pass.enter("conformance").await?;
    trial.backend.vacate(&mine.write_scope(&entered)).await?;
    equal(mine.count(None).await?, 1, "a place with a point in it is not given up")?;
    trial.asks("to vacate an empty place");
    trial.clear(&mine, std::slice::from_ref(&point)).await?;
    for _again in 0..2 {
        trial.backend.vacate(&mine.write_scope(&entered)).await?;
    }
    entered.done();
    equal(mine.count(None).await?, 0, "a place that was given up has no points")?;
    trial.asks("to write where the place was given up");
    mine.upsert(vec![point.clone()]).await?;
    equal(mine.count(None).await?, 1, "a place that was given up comes back with a write")?;
    trial.clear(&mine, &[point]).await
}

/// A dropped partition is gone, stays gone, and takes nothing of another tenant with it. The partition of the second
/// context is dropped for good.
pub(super) async fn dropping(trial: &mut Trial<'_>) -> Result<(), Fault> {
    trial.asks("to drop a partition, twice");
    let (mine, theirs, backend) = (trial.mine()?, trial.theirs()?, trial.backend);
    let point = corpus::point("kept", &mut Numbers::new(4))?;
    mine.upsert(vec![point.clone()]).await?;
    theirs.upsert(vec![point.clone()]).await?;
    let entered = theirs.pass.enter("conformance").await?;
    for _again in 0..2 {
        let scope = DropScope::of_trial(&entered, &theirs.points);
        backend.drop_partition(&scope).await?;
        let verdict = backend.verify_dropped(&scope).await?;
        ensure(!verdict.is_failed(), "nothing is found of a dropped partition")?;
    }
    trial.asks("reads of a dropped partition");
    gone(theirs.count(None).await, |count| *count == 0)?;
    let found = theirs.get(std::slice::from_ref(point.id())).await;
    gone(found, |found| found.iter().all(|found| found.point().is_none()))?;
    gone(theirs.query(&anything()?).await, Vec::is_empty)?;
    trial.asks("to write to a dropped partition");
    let late = request(trial.two, &[PointKey::of_bytes([5; 32])], point.id(), UpsertMode::Replace)?;
    let late = backend.write(&theirs.write_scope(&entered), late).await;
    ensure(matches!(late, Err(BackendError::Dropped)), "a late write is refused")?;
    entered.done();
    let late = theirs.upsert(vec![point.clone()]).await;
    ensure(matches!(late, Err(VectorError::Denied(Denial::TenantErased))), "and the caller learns why")?;
    trial.asks("the points of a neighbour of a dropped partition");
    equal(mine.count(None).await?, 1, "another tenant's points stay")?;
    trial.clear(&mine, &[point]).await
}

/// Nothing is answered of a dropped partition, or the call is refused. What the back end says of itself is not enough.
fn gone<T>(answer: Result<T, VectorError>, is_nothing: impl FnOnce(&T) -> bool) -> Result<(), Fault> {
    match answer {
        Ok(answer) => ensure(is_nothing(&answer), "nothing is read of a dropped partition"),
        Err(VectorError::Denied(Denial::TenantErased)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Points under keys of our choosing, with the tag of a tenant of our choosing.
fn request(
    owner: &TenantContext,
    keys: &[PointKey],
    id: &ExternalId,
    mode: UpsertMode,
) -> Result<WriteRequest, VectorError> {
    let points = keys.iter().map(|key| {
        let payload = object(json!({"label": "red", "rank": 1}));
        let payload = tag::stamp(owner.life(), key, id, payload);
        let dense = DenseVector::new(vec![1.0; DIMENSION])?;
        let vectors = [(VectorName::dense(), dense.into()), (VectorName::sparse(), terms()?.into())];
        Ok(TaggedPoint { key: *key, vectors: BTreeMap::from(vectors), payload })
    });
    let points = points.collect::<Result<_, VectorError>>()?;
    writes(vec![Write::Upsert { points, mode }])
}

fn writes(writes: Vec<Write>) -> Result<WriteRequest, VectorError> {
    Ok(WriteRequest { schema: schema()?, writes })
}

/// How many points a deletion takes away.
async fn delete(trial: &Trial<'_>, scope: &WriteScope<'_>, key: PointKey) -> Result<u64, Fault> {
    let before = trial.backend.count(scope, all()).await?;
    trial.backend.write(scope, writes(vec![Write::Delete(Selector::Keys(vec![key]))])?).await?;
    Ok(before.saturating_sub(trial.backend.count(scope, all()).await?))
}

const fn all() -> CountRequest {
    CountRequest { condition: None }
}

fn terms() -> Result<SparseVector, VectorError> {
    SparseVector::new(vec![3], vec![1.0])
}
