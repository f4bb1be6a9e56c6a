//! An operator writes a shared corpus.

use std::fmt;

use tenancy_core::Publication;

use crate::error::VectorError;
use crate::point::Point;
use crate::points::Points;
use crate::scope::VectorScope;
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
    /// was revoked.
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
    /// was revoked.
    pub async fn change(&self, changes: Vec<Change>) -> Result<(), VectorError> {
        let writes = self.points.changes(changes)?;
        if writes.is_empty() {
            return Ok(());
        }
        let change = self.publication.begin("corpus.change").await?;
        let points = self.points.clone();
        run_to_the_end(async move {
            let scope = VectorScope::of_change(&change, &points);
            let written = points.engine.backend.write(&scope, points.request(writes)).await;
            let (settled, written) = match written {
                Ok(()) => (change.changed().await, Ok(())),
                Err(error) => (change.failed().await, Err(error)),
            };
            written?;
            settled.map_err(|_| VectorError::Unsettled)
        })
        .await
    }
}

impl fmt::Debug for CorpusWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CorpusWriter({:?})", self.publication.corpus())
    }
}
