//! Many points, in batches.

use std::pin::pin;

use futures_core::Stream;
use tenancy_core::Face;

use super::TenantVectors;
use crate::error::VectorError;
use crate::point::Point;

/// How a stream of points is stored.
#[derive(Clone, Copy, Debug)]
pub struct Upload {
    batch: usize,
}

impl Upload {
    /// In batches of 500 points.
    #[must_use]
    pub const fn new() -> Self {
        Self { batch: 500 }
    }

    /// In batches of so many points. No more than one batch is in memory.
    ///
    /// # Errors
    /// [`VectorError::BadLimit`] for 0 and for more than [`TenantVectors::MAX_BATCH`].
    pub const fn batch(mut self, points: usize) -> Result<Self, VectorError> {
        if points == 0 || points > TenantVectors::MAX_BATCH {
            return Err(VectorError::BadLimit { most: TenantVectors::MAX_BATCH });
        }
        self.batch = points;
        Ok(self)
    }
}

impl Default for Upload {
    fn default() -> Self {
        Self::new()
    }
}

/// An upload that stopped. Going on from [`acknowledged`](Self::acknowledged) stores the rest; a point that is stored
/// again is the same point.
#[derive(Debug, thiserror::Error)]
#[error("{cause}; {acknowledged} points of the stream are stored, of {unknown} more it is not known")]
pub struct UploadError {
    acknowledged: u64,
    unknown: u64,
    #[source]
    cause: VectorError,
}

impl UploadError {
    /// How many points from the beginning of the stream are stored for sure.
    #[must_use]
    pub const fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// How many points behind those may be stored, or not: the batch that failed. None where it was refused before anything
    /// was sent.
    #[must_use]
    pub const fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Why it stopped. Where it names an item by its place, that is counted from [`acknowledged`](Self::acknowledged) on.
    #[must_use]
    pub const fn cause(&self) -> &VectorError {
        &self.cause
    }
}

impl TenantVectors {
    /// Stores the points of a stream, batch by batch, as [`upsert`](Self::upsert) does each. `acknowledged` is called
    /// after each batch with how many points are stored since the beginning. Returns how many there were.
    ///
    /// An external id twice in one batch is refused; in a later batch it replaces the point.
    ///
    /// Dropped, the batch under way is still stored, and no later one is begun.
    ///
    /// # Errors
    /// [`UploadError`], which says from where to go on.
    pub async fn upload(
        &self,
        points: impl Stream<Item = Point> + Send,
        options: Upload,
        mut acknowledged: impl FnMut(u64) + Send,
    ) -> Result<u64, UploadError> {
        let mut points = pin!(points);
        let mut done = 0;
        loop {
            let mut batch = Vec::with_capacity(options.batch);
            while batch.len() < options.batch
                && let Some(point) = std::future::poll_fn(|context| points.as_mut().poll_next(context)).await
            {
                batch.push(point);
            }
            let count = batch.len() as u64;
            if count == 0 {
                return Ok(done);
            }
            self.upsert(batch).await.map_err(|cause| {
                // A caller's mistake is found before anything is sent.
                let unknown = if cause.face() == Face::Invalid { 0 } else { count };
                UploadError { acknowledged: done, unknown, cause }
            })?;
            done += count;
            acknowledged(done);
        }
    }
}
