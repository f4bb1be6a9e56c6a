//! An opened job, and what becomes of it.

use std::fmt;
use std::sync::Arc;

use tenancy_core::{Job, JobKind, TenantContext, Zeroizing};
use uuid::Uuid;

use super::{Shared, seconds};
use crate::error::PgError;

/// A job whose ticket was verified, with its context and its payload. Dropped, it is visible again after its lease.
#[must_use = "a job that is dropped is visible again after its lease"]
pub struct QueuedJob<K: JobKind> {
    lease: Lease,
    job: Job<K>,
    payload: Zeroizing<Vec<u8>>,
}

/// The right to say what becomes of a job, until somebody else has claimed it.
pub(super) struct Lease {
    pub(super) shared: Arc<Shared>,
    pub(super) id: i64,
    pub(super) token: Uuid,
    pub(super) attempts: i32,
}

/// What became of a job that was given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AfterRetry {
    /// It will be visible again.
    Again,
    /// It had its last attempt.
    Dead,
}

impl<K: JobKind> QueuedJob<K> {
    pub(super) const fn new(lease: Lease, job: Job<K>, payload: Zeroizing<Vec<u8>>) -> Self {
        Self { lease, job, payload }
    }

    /// The context: the tenant of whoever enqueued the job, with at most the permissions it had.
    #[must_use]
    pub const fn context(&self) -> &TenantContext {
        self.job.context()
    }

    /// What was enqueued. Wiped from memory when dropped.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Which attempt this is, from 1.
    #[must_use]
    pub const fn attempt(&self) -> i32 {
        self.lease.attempts
    }

    /// Begins the lease anew, for a job that takes longer. Dropped before it answers: it may have been.
    ///
    /// # Errors
    /// [`PgError::LeaseLost`] when it had passed and somebody else has claimed the job: stop. [`PgError`] when the
    /// database did not answer.
    pub async fn extend(&self) -> Result<(), PgError> {
        self.lease.extend().await
    }

    /// The job is done and gone. Dropped before it answers: it may be gone, or visible again after its lease.
    ///
    /// # Errors
    /// As [`extend`](Self::extend): somebody else may do it again.
    pub async fn complete(self) -> Result<(), PgError> {
        self.lease.complete().await
    }

    /// Gives the job back: it is tried again after a while, or dead if this was its last attempt. Dropped before it
    /// answers: that, or it is visible again after its lease.
    ///
    /// # Errors
    /// As [`extend`](Self::extend).
    pub async fn retry(self) -> Result<AfterRetry, PgError> {
        self.lease.back_off().await
    }

    /// Gives the job up: it is dead, with the reason. Never put anything of the tenant's into it.
    ///
    /// # Errors
    /// As [`extend`](Self::extend).
    pub async fn bury(self, reason: &'static str) -> Result<(), PgError> {
        self.lease.bury(reason).await
    }
}

impl Lease {
    async fn extend(&self) -> Result<(), PgError> {
        let sql = "update tenancy_queue.job set visible_at = now() + make_interval(secs => $3) \
                   where id = $1 and lease = $2 and dead is null";
        let lease = seconds(self.shared.options.lease);
        let done = sqlx::query(sql).bind(self.id).bind(self.token).bind(lease).execute(&self.shared.pool).await?;
        held(done.rows_affected())
    }

    async fn complete(&self) -> Result<(), PgError> {
        let sql = "delete from tenancy_queue.job where id = $1 and lease = $2 and dead is null";
        let done = sqlx::query(sql).bind(self.id).bind(self.token).execute(&self.shared.pool).await?;
        held(done.rows_affected())
    }

    pub(super) async fn back_off(&self) -> Result<AfterRetry, PgError> {
        if self.attempts >= i32::from(self.shared.options.max_attempts) {
            self.bury("attempts").await?;
            return Ok(AfterRetry::Dead);
        }
        let sql = "update tenancy_queue.job set lease = null, visible_at = now() + make_interval(secs => $3) \
                   where id = $1 and lease = $2 and dead is null";
        let pause = seconds(self.shared.back_off(self.attempts));
        let done = sqlx::query(sql).bind(self.id).bind(self.token).bind(pause).execute(&self.shared.pool).await?;
        held(done.rows_affected())?;
        Ok(AfterRetry::Again)
    }

    pub(super) async fn bury(&self, reason: &'static str) -> Result<(), PgError> {
        let sql = "update tenancy_queue.job set dead = $3, lease = null where id = $1 and lease = $2 and dead is null";
        let done = sqlx::query(sql).bind(self.id).bind(self.token).bind(reason).execute(&self.shared.pool).await?;
        held(done.rows_affected())
    }
}

const fn held(changed: u64) -> Result<(), PgError> {
    if changed == 0 { Err(PgError::LeaseLost) } else { Ok(()) }
}

impl<K: JobKind> fmt::Debug for QueuedJob<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueuedJob({:?}, attempt {})", self.job, self.lease.attempts)
    }
}
