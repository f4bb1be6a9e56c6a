//! An operator writes a shared corpus.

use std::fmt;

use tenancy_core::{CrossingTrail, Publication};

use crate::error::VectorError;
use crate::point::Point;
use crate::points::Points;
use crate::request::WriteRequest;
use crate::scope::VectorScope;
use crate::tenant::{Change, run_to_the_end};

/// Writes the documents of a shared corpus. Made by [`SharedVectors::publish`](crate::SharedVectors::publish); it ends
/// with the grant that it borrows.
///
/// # Cancelling
/// A write runs in a task of its own: drop the future and it still goes on to its end, with its record. Dropped before
/// it began, caches that took from the corpus are bypassed until the lease of the announced write runs out.
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
        self.publication.check(ACTION).await?;
        let trail = self.publication.trail();
        let writes = match self.points.changes(changes) {
            Ok(writes) if writes.is_empty() => return Ok(()),
            Ok(writes) => writes,
            Err(error) => return Err(noted(trail, error)),
        };
        let write = match self.publication.begin_write().await {
            Ok(write) => write,
            Err(denial) => return Err(noted(trail, denial.into())),
        };
        // The grant may have ended while the announcement was made.
        if let Err(denial) = self.publication.check(ACTION).await {
            let _unsettled_writes_run_out = write.settle().await;
            return Err(denial.into());
        }
        let (points, trail) = (self.points.clone(), trail.clone());
        run_to_the_end(async move {
            let request: WriteRequest = points.request(writes);
            let written = points.engine.backend.write(&VectorScope::of_write(&write, &points), request).await;
            let settled = write.settle().await;
            if let Err(error) = written {
                return Err(noted(&trail, error.into()));
            }
            trail.changed(ACTION);
            settled.map_err(|_| VectorError::Unsettled)
        })
        .await
    }
}

/// Records what went wrong.
fn noted(trail: &CrossingTrail, error: VectorError) -> VectorError {
    match &error {
        VectorError::Denied(denial) => {
            let _recorded = trail.refuse(ACTION, *denial);
        }
        _failed => trail.failed_as(ACTION, "corpus.not_changed"),
    }
    error
}

impl fmt::Debug for CorpusWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CorpusWriter({:?})", self.publication.corpus())
    }
}

const ACTION: &str = "corpus.change";
