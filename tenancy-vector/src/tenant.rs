//! The vectors of one tenant.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use tenancy_core::{Denial, Entered, Pass};

use crate::answers;
use crate::backend::{Arm, QueryRequest, TaggedPoint, UpsertRequest};
use crate::error::{BackendError, VectorError};
use crate::filter::Reduced;
use crate::id::{ExternalId, PointKey};
use crate::point::{Deleted, Found, Hit, Point};
use crate::query::VectorQuery;
use crate::scope::{Partition, VectorScope};
use crate::store::Engine;
use crate::tag;

/// The vectors of one tenant. Made by [`VectorStore::scoped`](crate::VectorStore::scoped) only; owned, cheap to clone.
///
/// Every method asks the fence first, and fails with [`VectorError::Denied`] when the context may not be used any more.
/// What a store gives back is checked point by point to be the tenant's; one that is not fails the whole call with
/// [`Denial::StoreBreach`] on record, and nothing is returned.
///
/// # Cancelling
/// A read that is dropped leaves a `cancelled` record and nothing else. A write runs in a task of its own, which owns
/// everything it needs: drop the future and the write still goes on to its end, with its record, and the version of
/// the tenant's documents is settled. The methods must be called within a Tokio runtime.
#[derive(Clone)]
pub struct TenantVectors {
    pub(crate) pass: Pass,
    engine: Arc<Engine>,
    partition: Partition,
}

impl TenantVectors {
    /// The most points of one upsert, and ids of one deletion or look-up.
    pub const MAX_BATCH: usize = 10_000;

    pub(crate) const fn new(pass: Pass, engine: Arc<Engine>, partition: Partition) -> Self {
        Self { pass, engine, partition }
    }

    /// Stores points, replacing those of the tenant's that have the same external id. Durable when it returns, as far
    /// as the back end is.
    ///
    /// While it runs the tenant's documents have no version, so nothing is kept in or taken from caches; afterwards,
    /// failed or not, they have a new one.
    ///
    /// # Errors
    /// [`VectorError::WrongDimension`], [`VectorError::UnknownVector`], [`VectorError::DuplicateId`] and
    /// [`VectorError::TooMany`], with nothing written; [`VectorError::Unsettled`], with everything written;
    /// [`VectorError::Backend`] and the others.
    pub async fn upsert(&self, points: Vec<Point>) -> Result<(), VectorError> {
        let this = self.clone();
        run_to_the_end(async move {
            let entered = this.pass.enter("vectors.upsert").await?;
            let written = this.write_points(&entered, points).await;
            end(entered, written, Entered::changed)
        })
        .await
    }

    /// The tenant's points that fit the query best, the best first, at most as many as the query's limit.
    ///
    /// # Errors
    /// [`VectorError::WrongDimension`], [`VectorError::UnknownVector`], [`VectorError::Backend`].
    pub async fn query(&self, query: &VectorQuery) -> Result<Vec<Hit>, VectorError> {
        let entered = self.pass.enter("vectors.query").await?;
        let hits = self.find(&entered, query).await;
        end(entered, hits, Entered::done)
    }

    /// Looks points up: one answer for each id, in their order.
    ///
    /// An id of another tenant's point and one that nobody ever used are the same to every part of this: the store is
    /// asked for a key that only this tenant's ids have. Each [`Found::NotVisible`] is on record.
    ///
    /// # Errors
    /// [`VectorError::TooMany`], [`VectorError::Backend`].
    pub async fn get(&self, ids: &[ExternalId]) -> Result<Vec<Found>, VectorError> {
        let entered = self.pass.enter("vectors.get").await?;
        let found = self.look_up(&entered, ids).await;
        if let Ok(found) = &found {
            let missing = found.iter().filter(|found| found.point().is_none()).count();
            self.note_not_visible("vectors.get", missing as u64);
        }
        end(entered, found, Entered::done)
    }

    /// Deletes points. Ids that are not among the tenant's points are on record and change nothing. Durable when it
    /// returns, as far as the back end is. Versions of documents as with [`upsert`](Self::upsert).
    ///
    /// # Errors
    /// [`VectorError::TooMany`], [`VectorError::Unsettled`], [`VectorError::Backend`].
    pub async fn delete(&self, ids: &[ExternalId]) -> Result<Deleted, VectorError> {
        let (this, ids) = (self.clone(), ids.to_vec());
        run_to_the_end(async move {
            let entered = this.pass.enter("vectors.delete").await?;
            let deleted = this.delete_points(&entered, &ids).await;
            if let Ok(deleted) = &deleted {
                this.note_not_visible("vectors.delete", deleted.not_visible);
            }
            end(entered, deleted, Entered::changed)
        })
        .await
    }

    /// How many points the tenant has.
    ///
    /// # Errors
    /// [`VectorError::Backend`].
    pub async fn count(&self) -> Result<u64, VectorError> {
        let entered = self.pass.enter("vectors.count").await?;
        let count = self.read(&entered, self.engine.backend.count(self.scope(&entered))).await;
        end(entered, count, Entered::done)
    }

    async fn write_points(&self, entered: &Entered<'_>, points: Vec<Point>) -> Result<(), VectorError> {
        ensure_batch(points.len())?;
        let mut ids = HashSet::with_capacity(points.len());
        for point in &points {
            self.engine.schema.admit(Some(&point.dense), Some(&point.sparse))?;
            if !ids.insert(&point.id) {
                return Err(VectorError::DuplicateId);
            }
        }
        if points.is_empty() {
            return Ok(());
        }
        let points: Result<_, Denial> = points.into_iter().map(|point| tagged(entered, point)).collect();
        let request = UpsertRequest::new(self.engine.schema, points?);
        self.write(entered, async |scope| self.engine.backend.upsert(scope, request).await).await
    }

    async fn delete_points(&self, entered: &Entered<'_>, ids: &[ExternalId]) -> Result<Deleted, VectorError> {
        ensure_batch(ids.len())?;
        let keys: HashSet<_> =
            ids.iter().map(|id| PointKey::derive(entered.context(), id)).collect::<Result<_, _>>()?;
        let asked = keys.len() as u64;
        if asked == 0 {
            return Ok(Deleted { removed: 0, not_visible: 0 });
        }
        let keys = keys.into_iter().collect();
        let removed = self.write(entered, async |scope| self.engine.backend.delete(scope, keys).await).await?;
        // More than were asked for: somebody's.
        let not_visible = asked.checked_sub(removed).ok_or(Denial::StoreBreach)?;
        Ok(Deleted { removed, not_visible })
    }

    async fn find(&self, entered: &Entered<'_>, query: &VectorQuery) -> Result<Vec<Hit>, VectorError> {
        self.engine.schema.admit_query(query)?;
        let filter = match query.filter.clone().map(crate::Filter::reduce) {
            Some(Reduced::Nothing) => return Ok(Vec::new()),
            Some(Reduced::Some(filter)) => Some(filter),
            Some(Reduced::Everything) | None => None,
        };
        let dense = query.dense.iter().map(|dense| Arm::Dense(dense.values().to_vec()));
        let sparse = query.sparse.iter().map(|sparse| Arm::Sparse(sparse.clone()));
        let request = QueryRequest { arms: dense.chain(sparse).collect(), limit: query.limit, filter };
        let asked = self.engine.backend.query(self.scope(entered), request.clone());
        let answers = self.read(entered, asked).await?;
        Ok(answers::hits(entered, &request, answers)?)
    }

    async fn look_up(&self, entered: &Entered<'_>, ids: &[ExternalId]) -> Result<Vec<Found>, VectorError> {
        ensure_batch(ids.len())?;
        let keys: HashMap<_, _> =
            ids.iter().map(|id| Ok((PointKey::derive(entered.context(), id)?, id))).collect::<Result<_, Denial>>()?;
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let asked = self.engine.backend.retrieve(self.scope(entered), keys.keys().copied().collect());
        let answers = self.read(entered, asked).await?;
        let points = answers::points(entered, &keys, answers)?;
        Ok(ids.iter().map(|id| points.get(id).cloned().map_or(Found::NotVisible, Found::Point)).collect())
    }

    /// Announces a write, runs it, and settles it, well or not.
    async fn write<T>(
        &self,
        entered: &Entered<'_>,
        act: impl AsyncFnOnce(VectorScope<'_>) -> Result<T, BackendError>,
    ) -> Result<T, VectorError> {
        let write = entered.begin_corpus_write().await?;
        // The standing may have changed while the announcement was made: an erased life gets no late write.
        let written = match entered.check_fresh().await {
            Ok(()) => act(self.scope(entered)).await.map_err(VectorError::from),
            Err(denial) => Err(denial.into()),
        };
        let settled = write.settle().await;
        match (written, settled) {
            (Ok(value), Ok(())) => Ok(value),
            (Ok(_), Err(_)) => Err(VectorError::Unsettled),
            (Err(error), _) => Err(error),
        }
    }

    /// Waits for an answer until the context's deadline, and looks at the standing again before it is used.
    async fn read<T>(
        &self,
        entered: &Entered<'_>,
        asked: impl Future<Output = Result<T, BackendError>>,
    ) -> Result<T, VectorError> {
        let answer = tokio::time::timeout(entered.context().remaining(), asked).await;
        let answer = answer.map_err(|_| Denial::DeadlinePassed)??;
        entered.check_fresh().await?;
        Ok(answer)
    }

    pub(crate) fn scope<'a>(&'a self, entered: &'a Entered<'_>) -> VectorScope<'a> {
        VectorScope::of_call(entered, &self.partition)
    }

    fn note_not_visible(&self, action: &'static str, times: u64) {
        for _ in 0..times {
            let _recorded = self.pass.refuse(action, Denial::NotVisible);
        }
    }
}

impl fmt::Debug for TenantVectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantVectors({:?})", self.pass.context().life())
    }
}

/// Ends a call with the record that fits what came of it.
fn end<'a, T>(entered: Entered<'a>, result: Result<T, VectorError>, well: fn(Entered<'a>)) -> Result<T, VectorError> {
    match &result {
        Ok(_) | Err(VectorError::Unsettled) => well(entered),
        Err(VectorError::Denied(denial)) => {
            let _recorded = entered.deny(*denial);
        }
        Err(_) => entered.failed(),
    }
    result
}

/// Runs a write in a task of its own, so that a dropped caller can't leave it half done or unsettled.
async fn run_to_the_end<T: Send + 'static>(
    write: impl Future<Output = Result<T, VectorError>> + Send + 'static,
) -> Result<T, VectorError> {
    tokio::spawn(write).await.map_err(|_| VectorError::Interrupted)?
}

fn tagged(entered: &Entered<'_>, point: Point) -> Result<TaggedPoint, Denial> {
    let Point { id, dense, sparse, payload } = point;
    let key = PointKey::derive(entered.context(), &id)?;
    let payload = tag::stamp(entered.context().life(), &key, &id, payload);
    Ok(TaggedPoint { key, dense: dense.into_values(), sparse, payload })
}

const fn ensure_batch(items: usize) -> Result<(), VectorError> {
    if items > TenantVectors::MAX_BATCH { Err(VectorError::TooMany { most: TenantVectors::MAX_BATCH }) } else { Ok(()) }
}
