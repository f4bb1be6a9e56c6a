//! An operator writes a shared corpus.

use std::fmt;

use tenancy_core::{CorpusChange, Publication, StoreVerdict};

use crate::error::{BackendError, VectorError};
use crate::point::Point;
use crate::points::{Owner, Points};
use crate::scope::{DropScope, WriteScope};
use crate::tenant::{Change, run_to_the_end};

/// Writes the documents of a shared corpus. Made by [`SharedVectors::publish`](crate::SharedVectors::publish); it ends
/// with the grant that it borrows.
///
/// # Cancelling
/// A write runs in a task of its own: drop the future and it still goes on to its end, with its record. Dropped before
/// it began, it is recorded as `cancelled`, and caches that took from the corpus are bypassed until the lease of the
/// announced write runs out.
pub struct CorpusWriter<'g> {
    publication: Publication<'g>,
    points: Points,
}

impl<'g> CorpusWriter<'g> {
    pub(super) const fn new(publication: Publication<'g>, points: Points) -> Self {
        Self { publication, points }
    }

    /// Stores points, replacing those of the corpus that have the same external id.
    ///
    /// # Cross-tenant access
    /// Every tenant of the realm reads them, and lists the record.
    ///
    /// # Errors
    /// As [`TenantVectors::upsert`](crate::TenantVectors::upsert); [`VectorError::Denied`] when the grant has expired or
    /// was revoked; [`VectorError::CorpusErased`].
    pub async fn upsert(&self, points: Vec<Point>) -> Result<(), VectorError> {
        self.change(vec![Change::Upsert(points)]).await
    }

    /// Makes changes, one after the other, as [`TenantVectors::change`](crate::TenantVectors::change).
    ///
    /// While it runs the corpus has no version, so no answer that took from it is kept in or taken from caches;
    /// afterwards, failed or not, it has a new one.
    ///
    /// # Cross-tenant access
    /// Every tenant of the realm reads what was changed, and lists the record.
    ///
    /// # Errors
    /// As [`TenantVectors::change`](crate::TenantVectors::change); [`VectorError::Denied`] when the grant has expired or
    /// was revoked; [`VectorError::CorpusErased`].
    pub async fn change(&self, changes: Vec<Change>) -> Result<(), VectorError> {
        let writes = self.points.changes(changes)?;
        if writes.is_empty() {
            return Ok(());
        }
        let change = self.publication.begin("corpus.change").await?;
        let points = self.points.clone();
        run_to_the_end(async move {
            let scope = WriteScope::of_change(&change, &points);
            let written = points.engine.backend.write(&scope, points.request(writes)).await;
            let is_well = written.is_ok();
            settle(change, &points.owner, written, is_well).await
        })
        .await
    }

    /// Takes every document of the corpus away, and looks for what is left: afterwards a read finds none or is refused, and a
    /// write is refused ([`VectorError::CorpusErased`]). Another edition is another corpus, with a name of its own.
    ///
    /// In Postgres that is for good. The embedded engine and a Qdrant server remember it as long as the process runs that erased
    /// it: let nobody have a grant for the corpus any more. What the verdict speaks of is the back end's to say: see
    /// [`StoreVerdict`]. Idempotent; after an error it goes on where
    /// it stopped. Versions of the corpus as with [`change`](Self::change).
    ///
    /// # Cross-tenant access
    /// Every tenant of the realm loses the documents, and lists the record.
    ///
    /// # Errors
    /// [`VectorError::Denied`] when the grant has expired or was revoked; [`VectorError::Unsettled`], with everything done;
    /// [`VectorError::Backend`] and the others.
    pub async fn erase(&self) -> Result<StoreVerdict, VectorError> {
        let change = self.publication.begin("corpus.erase").await?;
        let points = self.points.clone();
        run_to_the_end(async move {
            let scope = DropScope::of_change(&change, &points);
            let backend = &points.engine.backend;
            let verdict = match backend.drop_partition(&scope).await {
                Ok(()) => backend.verify_dropped(&scope).await,
                Err(error) => Err(error),
            };
            let is_well = verdict.as_ref().is_ok_and(|verdict| !verdict.is_failed());
            settle(change, &points.owner, verdict, is_well).await
        })
        .await
    }
}

/// Ends a change with the record that fits what came of it.
async fn settle<T>(
    change: CorpusChange,
    owner: &Owner,
    done: Result<T, BackendError>,
    is_well: bool,
) -> Result<T, VectorError> {
    let settled = if is_well { change.changed().await } else { change.failed().await };
    let done = done.map_err(|error| owner.failed(error))?;
    settled.map_err(|_| VectorError::Unsettled)?;
    Ok(done)
}

impl fmt::Debug for CorpusWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CorpusWriter({:?})", self.publication.corpus())
    }
}
