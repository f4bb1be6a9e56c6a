//! The checks, each of which leaves nothing behind but what it says.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Map;
use tenancy_core::{Denial, Realm, StoreVerdict, TenantContext};

use super::corpus::{self, DIMENSION, Numbers};
use super::{Nonconformance, ReferenceBackend, ensure};
use crate::backend::VectorBackend;
use crate::error::{BackendError, VectorError};
use crate::id::{ExternalId, PointKey};
use crate::name::VectorName;
use crate::point::{Found, Hit};
use crate::query::VectorQuery;
use crate::request::{CountRequest, Selector, TaggedPoint, UpsertMode, Write, WriteRequest};
use crate::schema::Schema;
use crate::scope::VectorScope;
use crate::store::VectorStore;
use crate::tag;
use crate::tenant::{TenantVectors, Vectors};
use crate::vector::{DenseVector, SparseVector};

/// A partition that nobody wrote to answers like one without points.
///
/// # Errors
/// [`Nonconformance`], as for the other checks.
pub async fn empty_partitions(
    realm: &Realm,
    backend: &Arc<dyn VectorBackend>,
    context: &TenantContext,
) -> Result<(), Nonconformance> {
    let mine = scoped(realm, backend, context)?;
    let id = corpus::id("nobody's")?;
    ensure(mine.count(None).await? == 0, "an empty partition counts no points")?;
    ensure(mine.get(std::slice::from_ref(&id)).await? == [Found::NotVisible], "an empty partition holds no id")?;
    ensure(mine.query(&anything()?).await?.is_empty(), "an empty partition has no hits")?;
    ensure(mine.delete(&[id]).await?.removed() == 0, "nothing is deleted from an empty partition")
}

/// Two tenants with the same ids have points of their own.
///
/// # Errors
/// [`Nonconformance`].
pub async fn separation(
    realm: &Realm,
    backend: &Arc<dyn VectorBackend>,
    one: &TenantContext,
    two: &TenantContext,
) -> Result<(), Nonconformance> {
    let (mine, theirs) = (scoped(realm, backend, one)?, scoped(realm, backend, two)?);
    let names = ["shared", "a:b", "e\u{301}", "\u{e9}", "Shared"];
    let ids = names.map(corpus::id).into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut numbers = Numbers::new(1);
    for tenant in [&mine, &theirs] {
        let points = names.map(|name| corpus::point(name, &mut numbers)).into_iter().collect::<Result<_, _>>()?;
        tenant.upsert(points).await?;
        ensure(tenant.count(None).await? == names.len() as u64, "ids are compared by bytes, within a tenant")?;
    }
    ensure(mine.delete(&ids[..1]).await?.removed() == 1, "a point of one's own is deleted")?;
    ensure(theirs.count(None).await? == names.len() as u64, "another tenant's point of the same id stays")?;
    ensure(theirs.get(&ids).await?.iter().all(|found| found.point().is_some()), "and is found")?;
    ensure(mine.get(&ids[..1]).await? == [Found::NotVisible], "a deleted point is not found")?;
    ensure(mine.query(&anything()?).await?.len() == names.len() - 1, "a query sees one's own points only")?;
    let _all_gone = (mine.delete(&ids).await?, theirs.delete(&ids).await?);
    ensure(mine.count(None).await? + theirs.count(None).await? == 0, "all points can be deleted")
}

/// A point with an id that is there replaces it as a whole.
///
/// # Errors
/// [`Nonconformance`].
pub async fn replacing(
    realm: &Realm,
    backend: &Arc<dyn VectorBackend>,
    context: &TenantContext,
) -> Result<(), Nonconformance> {
    let mine = scoped(realm, backend, context)?;
    let mut numbers = Numbers::new(2);
    let first = corpus::point("again", &mut numbers)?;
    let second = crate::Point::hybrid(corpus::id("again")?, numbers.dense(), SparseVector::empty(), Map::new())?;
    mine.upsert(vec![first.clone()]).await?;
    mine.upsert(vec![second]).await?;
    ensure(mine.count(None).await? == 1, "a second upsert of an id makes no second point")?;
    let found = mine.get(std::slice::from_ref(first.id())).await?;
    ensure(found.iter().all(|found| found.point().is_some_and(|p| p.payload().is_empty())), "the payload is replaced")?;
    if let Some(terms) = first.vectors.get(&VectorName::sparse()).cloned() {
        ensure(
            mine.query(&VectorQuery::nearest(VectorName::sparse(), terms)).await?.is_empty(),
            "the vectors are replaced",
        )?;
    }
    clear(&mine, [first.id().clone()]).await
}

/// Hits, scores and order are those of an exhaustive search, for each kind of query and with each kind of filter, also
/// after every point was written again.
///
/// In a partition from which nothing was deleted: engines go on counting the terms of deleted points for a while.
///
/// # Errors
/// [`Nonconformance`].
pub async fn ranking(
    realm: &Realm,
    backend: &Arc<dyn VectorBackend>,
    context: &TenantContext,
) -> Result<(), Nonconformance> {
    let exact: Arc<dyn VectorBackend> = Arc::new(ReferenceBackend::new());
    let (mine, exact) = (scoped(realm, backend, context)?, scoped(realm, &exact, context)?);
    let mut numbers = Numbers::new(3);
    let points = corpus::points(&mut numbers)?;
    exact.upsert(points.clone()).await?;
    for _again in 0..2 {
        mine.upsert(points.clone()).await?;
    }
    as_an_exhaustive_search(&mine, &exact, corpus::queries(&mut numbers)?).await?;
    clear(&mine, points.iter().map(|point| point.id().clone())).await?;

    let twins = corpus::twins(&mut numbers)?;
    mine.upsert(twins.clone()).await?;
    for query in [VectorQuery::dense(numbers.dense())?, VectorQuery::sparse(terms()?)?] {
        let found = mine.query(&query.limit(MOST)?).await?;
        ensure(found.len() == twins.len() && found.is_sorted_by(in_order), "equal scores come by id")?;
        ensure(found[0].score().to_bits() == found[1].score().to_bits(), "equal vectors have equal scores")?;
    }
    clear(&mine, twins.iter().map(|point| point.id().clone())).await
}

/// Hits, scores and order of each query are those that the other has.
pub(super) async fn as_an_exhaustive_search<Of>(
    mine: &Vectors<Of>,
    exact: &Vectors<Of>,
    queries: Vec<VectorQuery>,
) -> Result<(), Nonconformance> {
    for query in queries {
        let limit = query.limit.unwrap_or(MOST);
        let (found, wanted) = (mine.query(&query).await?, exact.query(&query.limit(MOST)?).await?);
        ensure(found.len() == wanted.len().min(limit), "hits are as many as an exhaustive search has")?;
        let near = |(a, b): (&Hit, &Hit)| (a.score() - b.score()).abs() < 1e-4;
        ensure(found.iter().zip(&wanted).all(near), "scores are those of an exhaustive search")?;
        // By id: which of several with one score come within the limit is the engine's choice.
        let same = |hit: &Hit| {
            wanted
                .iter()
                .find(|other| other.id() == hit.id())
                .is_some_and(|other| near((hit, other)) && hit.payload() == other.payload())
        };
        ensure(found.iter().all(same), "hits are those of an exhaustive search, with their payloads")?;
        ensure(found.is_sorted_by(in_order), "hits come by score, equal ones by id, each once")?;
    }
    Ok(())
}

fn in_order(one: &Hit, other: &Hit) -> bool {
    one.score() > other.score() || (one.score() == other.score() && one.id() < other.id())
}

const MOST: usize = 100;

/// Two points that share an engine id but not the digest are told apart: the second is not written over the first, nor
/// found or deleted in its place.
///
/// # Errors
/// [`Nonconformance`].
pub async fn engine_ids(
    realm: &Realm,
    backend: &Arc<dyn VectorBackend>,
    context: &TenantContext,
) -> Result<(), Nonconformance> {
    let mine = scoped(realm, backend, context)?;
    let entered = mine.pass.enter("conformance").await?;
    let mut twin = [7; 32];
    twin[31] = 8;
    let (first, twin) = (PointKey::of_bytes([7; 32]), PointKey::of_bytes(twin));
    let id = corpus::id("twin")?;
    let write = |keys: &[PointKey]| request(context, keys, &id);
    let scope = mine.scope(&entered);
    let is_collision = |result| matches!(result, Err(BackendError::Collision));

    backend.write(&scope, write(&[first])?).await?;
    ensure(is_collision(backend.write(&scope, write(&[twin])?).await), "a taken engine id is a collision")?;
    ensure(backend.retrieve(&scope, vec![twin], false).await?.is_empty(), "a point is not found under another digest")?;
    ensure(delete(backend, &scope, twin).await? == 0, "a point is not deleted under another digest")?;
    ensure(backend.retrieve(&scope, vec![first], false).await?.len() == 1, "the first point is still there")?;
    ensure(delete(backend, &scope, first).await? == 1, "and is deleted under its own digest")?;
    let both = backend.write(&scope, write(&[first, twin])?).await;
    ensure(is_collision(both), "two points of one call may not share an engine id")?;
    ensure(backend.count(&scope, all()).await? == 0, "a collision writes nothing")?;
    entered.done();
    Ok(())
}

/// A point that carries another life is not seen, counted, deleted or written over, even in one's own partition. This
/// is what the condition on the life is for.
///
/// The stray point stays in the partition of the first context.
///
/// # Errors
/// [`Nonconformance`].
pub async fn life_condition(
    realm: &Realm,
    backend: &Arc<dyn VectorBackend>,
    one: &TenantContext,
    two: &TenantContext,
) -> Result<(), Nonconformance> {
    let mine = scoped(realm, backend, one)?;
    let entered = mine.pass.enter("conformance").await?;
    let scope = mine.scope(&entered);
    let key = PointKey::of_bytes([9; 32]);
    let id = corpus::id("stray")?;
    // A back end that looks for what it wrote does not find it.
    let stray = backend.write(&scope, request(two, &[key], &id)?).await;
    ensure(matches!(stray, Ok(()) | Err(BackendError::Collision)), "a point of another life is stored, or missed")?;
    ensure(backend.count(&scope, all()).await? == 0, "a point of another life is not counted")?;
    ensure(backend.retrieve(&scope, vec![key], false).await?.is_empty(), "a point of another life is not found")?;
    ensure(delete(backend, &scope, key).await? == 0, "a point of another life is not deleted")?;
    for query in [anything()?, VectorQuery::sparse(terms()?)?, VectorQuery::hybrid(vec![1.0; DIMENSION], terms()?)?] {
        ensure(mine.query(&query).await?.is_empty(), "a point of another life is no hit")?;
    }
    let over = backend.write(&scope, request(one, &[key], &id)?).await;
    ensure(matches!(over, Err(BackendError::Collision)), "a point of another life is not written over")?;
    entered.done();
    Ok(())
}

/// A dropped partition is gone, stays gone, and takes nothing of another tenant with it. The partition of the second
/// context is dropped for good.
///
/// # Errors
/// [`Nonconformance`].
pub async fn dropping(
    realm: &Realm,
    backend: &Arc<dyn VectorBackend>,
    one: &TenantContext,
    two: &TenantContext,
) -> Result<(), Nonconformance> {
    let (mine, theirs) = (scoped(realm, backend, one)?, scoped(realm, backend, two)?);
    let point = corpus::point("kept", &mut Numbers::new(4))?;
    mine.upsert(vec![point.clone()]).await?;
    theirs.upsert(vec![point.clone()]).await?;
    let entered = theirs.pass.enter("conformance").await?;
    for _again in 0..2 {
        backend.drop_partition(&theirs.scope(&entered)).await?;
        let verdict = backend.verify_dropped(&theirs.scope(&entered)).await?;
        ensure(verdict != StoreVerdict::Failed, "nothing is found of a dropped partition")?;
    }
    let late = backend.write(&theirs.scope(&entered), request(two, &[PointKey::of_bytes([5; 32])], point.id())?).await;
    ensure(matches!(late, Err(BackendError::Dropped)), "a late write is refused")?;
    entered.done();
    let late = theirs.upsert(vec![point.clone()]).await;
    ensure(matches!(late, Err(VectorError::Denied(Denial::TenantErased))), "and the caller learns why")?;
    ensure(mine.count(None).await? == 1, "another tenant's points stay")?;
    clear(&mine, [point.id().clone()]).await
}

pub(super) fn schema() -> Result<Schema, VectorError> {
    Schema::hybrid(DIMENSION)
}

fn scoped(
    realm: &Realm,
    backend: &Arc<dyn VectorBackend>,
    context: &TenantContext,
) -> Result<TenantVectors, VectorError> {
    VectorStore::new(realm, Arc::clone(backend), schema()?).scoped(context)
}

/// Points under keys of our choosing, with the tag of a tenant of our choosing.
fn request(owner: &TenantContext, keys: &[PointKey], id: &ExternalId) -> Result<WriteRequest, VectorError> {
    let points = keys.iter().map(|key| {
        let payload = tag::stamp(owner.life(), key, id, Map::new());
        let dense = DenseVector::new(vec![1.0; DIMENSION])?;
        let vectors = [(VectorName::dense(), dense.into()), (VectorName::sparse(), terms()?.into())];
        Ok(TaggedPoint { key: *key, vectors: BTreeMap::from(vectors), payload })
    });
    let points = points.collect::<Result<_, VectorError>>()?;
    writes(vec![Write::Upsert { points, mode: UpsertMode::Replace }])
}

fn writes(writes: Vec<Write>) -> Result<WriteRequest, VectorError> {
    Ok(WriteRequest { schema: schema()?, writes })
}

/// How many points a deletion takes away.
async fn delete(
    backend: &Arc<dyn VectorBackend>,
    scope: &VectorScope<'_>,
    key: PointKey,
) -> Result<u64, Nonconformance> {
    let before = backend.count(scope, all()).await?;
    backend.write(scope, writes(vec![Write::Delete(Selector::Keys(vec![key]))])?).await?;
    Ok(before - backend.count(scope, all()).await?)
}

const fn all() -> CountRequest {
    CountRequest { condition: None }
}

fn terms() -> Result<SparseVector, VectorError> {
    SparseVector::new(vec![3], vec![1.0])
}

fn anything() -> Result<VectorQuery, VectorError> {
    VectorQuery::dense(vec![1.0; DIMENSION])?.limit(MOST)
}

async fn clear(mine: &TenantVectors, ids: impl IntoIterator<Item = ExternalId>) -> Result<(), Nonconformance> {
    let ids: Vec<_> = ids.into_iter().collect();
    let deleted = mine.delete(&ids).await?;
    ensure(deleted.not_visible() == 0 && mine.count(None).await? == 0, "all points can be deleted")
}
