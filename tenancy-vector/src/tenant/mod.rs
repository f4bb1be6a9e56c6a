//! The vectors of one tenant.

mod browse;
mod change;
mod find;
mod groups;
mod rerank;
mod scroll;
mod upload;

use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

use tenancy_core::{Denial, Entered, Pass};

pub use browse::{Facet, Near};
pub use change::{Change, Select};
pub use groups::{GroupBy, HitGroup};
pub use rerank::{Candidates, Reranker};
pub use scroll::{Cursor, Page, Scroll};
pub use upload::{Upload, UploadError};

use crate::error::{BackendError, VectorError};
use crate::filter::{Filter, Reduced};
use crate::id::ExternalId;
use crate::marker::Own;
use crate::point::{Deleted, Found, Hit, Point};
use crate::points::{Points, ensure_batch};
use crate::query::VectorQuery;
use crate::request::{CountRequest, Selector, UpsertMode, Write};
use crate::scope::{VectorScope, WriteScope};

/// The vectors of one tenant. Made by [`VectorStore::scoped`](crate::VectorStore::scoped) only; owned, cheap to clone.
///
/// What can be read is the same for a tenant's own points and for a shared corpus: see [`Vectors`].
pub type TenantVectors = Vectors<Own>;

/// Points that a context may read, and write where they are its tenant's own. Owned, cheap to clone.
///
/// Every method asks the fence first, and fails with [`VectorError::Denied`] when the context may not be used any more.
/// What a store gives back is checked point by point to be of those that are meant; one that is not fails the whole call
/// with [`Denial::StoreBreach`] on record, and nothing is returned.
///
/// # Cancelling
/// A read that is dropped leaves a `cancelled` record and nothing else. A write runs in a task of its own, which owns
/// everything it needs: drop the future and the write still goes on to its end, with its record, and the version of
/// the tenant's documents is settled. The methods must be called within a Tokio runtime.
#[derive(Clone)]
pub struct Vectors<Of> {
    pub(crate) pass: Pass,
    pub(crate) points: Points,
    of: PhantomData<fn() -> Of>,
}

impl<Of> Vectors<Of> {
    /// The most points of one upsert, and ids of one deletion or look-up.
    pub const MAX_BATCH: usize = MAX_BATCH;

    /// The most queries of one batch.
    pub const MAX_QUERIES: usize = 64;

    pub(crate) const fn new(pass: Pass, points: Points) -> Self {
        Self { pass, points, of: PhantomData }
    }
}

impl TenantVectors {
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
            end(entered, written, this.wrote())
        })
        .await
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
            end(entered, deleted, this.wrote())
        })
        .await
    }

    async fn write_points(&self, entered: &Entered<'_>, points: Vec<Point>) -> Result<(), VectorError> {
        ensure_batch(points.len())?;
        match self.points.upserts(points, UpsertMode::Replace)? {
            Some(write) => self.do_writes(entered, vec![write]).await,
            None => Ok(()),
        }
    }

    async fn delete_points(&self, entered: &Entered<'_>, ids: &[ExternalId]) -> Result<Deleted, VectorError> {
        ensure_batch(ids.len())?;
        let keys = self.points.owner.keys_of(ids)?;
        let keys: HashSet<_> = keys.into_iter().collect();
        let asked = keys.len() as u64;
        if asked == 0 {
            return Ok(Deleted { removed: 0, not_visible: 0 });
        }
        let keys: Vec<_> = keys.into_iter().collect();
        let there = CountRequest { condition: Some(Filter::HasId(keys.clone())) };
        let scope = self.scope(entered);
        let removed = self.read(entered, self.points.engine.backend.count(&scope, there)).await?;
        // More than were asked for: somebody's.
        let not_visible = asked.checked_sub(removed).ok_or(Denial::StoreBreach)?;
        self.do_writes(entered, vec![Write::Delete(Selector::Keys(keys))]).await?;
        Ok(Deleted { removed, not_visible })
    }

    /// How a write goes on record: what no answer is made from is no data of the tenant's.
    fn wrote<'e>(&self) -> fn(Entered<'e>) {
        if self.points.engine.is_corpus { Entered::changed } else { Entered::done }
    }

    /// Does writes, announced and settled.
    pub(crate) async fn do_writes(&self, entered: &Entered<'_>, writes: Vec<Write>) -> Result<(), VectorError> {
        let request = self.points.request(writes);
        self.write(entered, async |scope| self.points.engine.backend.write(scope, request).await).await
    }

    pub(crate) fn write_scope<'a>(&'a self, entered: &'a Entered<'_>) -> WriteScope<'a> {
        WriteScope::of_call(entered, &self.points)
    }

    /// Announces a write, runs it, and settles it, well or not.
    async fn write<T>(
        &self,
        entered: &Entered<'_>,
        act: impl AsyncFnOnce(&WriteScope<'_>) -> Result<T, BackendError>,
    ) -> Result<T, VectorError> {
        let announced = match self.points.engine.is_corpus {
            true => Some(entered.begin_corpus_write().await?),
            false => None,
        };
        // The standing may have changed while the announcement was made: an erased life gets no late write.
        let written = match entered.check_fresh().await {
            Ok(()) => act(&self.write_scope(entered)).await.map_err(VectorError::from),
            Err(denial) => Err(denial.into()),
        };
        let settled = match announced {
            Some(write) => write.settle().await,
            None => Ok(()),
        };
        match (written, settled) {
            (Ok(value), Ok(())) => Ok(value),
            (Ok(_), Err(_)) => Err(VectorError::Unsettled),
            (Err(error), _) => Err(error),
        }
    }
}

impl<Of> Vectors<Of> {
    /// The points that fit the query best, the best first, at most as many as the query's limit.
    ///
    /// # Errors
    /// Those of the query's parts against the schema: [`VectorError::WrongDimension`], [`VectorError::UnknownVector`],
    /// [`VectorError::WrongKind`], [`VectorError::WrongIndex`], [`VectorError::NotIndexed`], [`VectorError::NoArm`],
    /// [`VectorError::QueryTooLarge`], [`VectorError::FormulaTooLarge`], [`VectorError::TooHeavy`]; [`VectorError::Denied`] with
    /// [`Denial::NotVisible`] for an example that is not among these points, another's or nobody's;
    /// [`VectorError::NoVector`]; [`VectorError::Backend`].
    pub async fn query(&self, query: &VectorQuery) -> Result<Vec<Hit>, VectorError> {
        let entered = self.pass.enter("vectors.query").await?;
        let hits = self.find(&entered, std::slice::from_ref(query), None).await;
        let only = hits.map(|hits| hits.into_iter().flatten().collect());
        end(entered, only, Entered::done)
    }

    /// The hits of several queries, in their order, asked for in one request where the back end can.
    ///
    /// # Errors
    /// As [`query`](Self::query), of the first that fails; [`VectorError::TooMany`] for more than
    /// [`MAX_QUERIES`](Self::MAX_QUERIES).
    pub async fn query_batch(&self, queries: &[VectorQuery]) -> Result<Vec<Vec<Hit>>, VectorError> {
        let entered = self.pass.enter("vectors.query_batch").await?;
        let hits = match queries.len() {
            0..=Self::MAX_QUERIES => self.find(&entered, queries, None).await,
            _more => Err(VectorError::TooMany { most: Self::MAX_QUERIES }),
        };
        end(entered, hits, Entered::done)
    }

    /// Looks points up: one answer for each id, in their order.
    ///
    /// An id of another tenant's point and one that nobody ever used are the same to every part of this: the store is
    /// asked for a key that only these points' ids have. Each [`Found::NotVisible`] is on record.
    ///
    /// # Errors
    /// [`VectorError::TooMany`], [`VectorError::Backend`].
    pub async fn get(&self, ids: &[ExternalId]) -> Result<Vec<Found>, VectorError> {
        self.get_points(ids, false).await
    }

    /// As [`get`](Self::get), with the vectors.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn get_with_vectors(&self, ids: &[ExternalId]) -> Result<Vec<Found>, VectorError> {
        self.get_points(ids, true).await
    }

    async fn get_points(&self, ids: &[ExternalId], vectors: bool) -> Result<Vec<Found>, VectorError> {
        let entered = self.pass.enter("vectors.get").await?;
        let found = self.look_up(&entered, ids, vectors).await;
        if let Ok(found) = &found {
            let missing = found.iter().filter(|found| found.point().is_none()).count();
            self.note_not_visible("vectors.get", missing as u64);
        }
        end(entered, found, Entered::done)
    }

    /// How many points the tenant has that meet a filter, exactly: an engine's estimate depends on its neighbours'.
    ///
    /// # Errors
    /// Those of [`VectorQuery::filter`]; [`VectorError::Backend`].
    pub async fn count(&self, filter: Option<&Filter>) -> Result<u64, VectorError> {
        let entered = self.pass.enter("vectors.count").await?;
        let count = self.count_points(&entered, filter).await;
        end(entered, count, Entered::done)
    }

    async fn count_points(&self, entered: &Entered<'_>, filter: Option<&Filter>) -> Result<u64, VectorError> {
        let condition = match self.points.condition(filter)? {
            Reduced::Nothing => return Ok(0),
            Reduced::Everything => None,
            Reduced::Some(condition) => Some(condition),
        };
        let scope = self.scope(entered);
        self.read(entered, self.points.engine.backend.count(&scope, CountRequest { condition })).await
    }

    /// Waits for an answer until the context's deadline, and looks at the standing again before it is used.
    async fn read<T>(
        &self,
        entered: &Entered<'_>,
        asked: impl Future<Output = Result<T, BackendError>>,
    ) -> Result<T, VectorError> {
        let answer = tokio::time::timeout(entered.context().remaining(), asked).await;
        let answer = answer.map_err(|_| Denial::DeadlinePassed)?.map_err(|error| self.points.owner.failed(error))?;
        entered.check_fresh().await?;
        Ok(answer)
    }

    pub(crate) fn scope<'a>(&'a self, entered: &'a Entered<'_>) -> VectorScope<'a> {
        VectorScope::of_call(entered, &self.points)
    }

    fn note_not_visible(&self, action: &'static str, times: u64) {
        for _ in 0..times {
            let _recorded = self.pass.refuse(action, Denial::NotVisible);
        }
    }
}

impl<Of> fmt::Debug for Vectors<Of> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vectors({:?})", self.points.owner.life())
    }
}

/// Ends a call with the record that fits what came of it.
pub(crate) fn end<'a, T>(
    entered: Entered<'a>,
    result: Result<T, VectorError>,
    well: fn(Entered<'a>),
) -> Result<T, VectorError> {
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
pub(crate) async fn run_to_the_end<T: Send + 'static>(
    write: impl Future<Output = Result<T, VectorError>> + Send + 'static,
) -> Result<T, VectorError> {
    tokio::spawn(write).await.map_err(|_| VectorError::Interrupted)?
}

/// The most points of one upsert, and ids of one deletion or look-up.
pub(crate) const MAX_BATCH: usize = 10_000;
