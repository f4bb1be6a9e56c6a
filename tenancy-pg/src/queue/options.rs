//! How workers reach the queue and deal with what fails.

use std::fmt;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};

use crate::error::PgError;
use crate::options::quiet;

/// Where the queue is, and how long and how often a job is tried.
#[derive(Clone)]
#[must_use]
pub struct QueueOptions {
    connect: PgConnectOptions,
    max_connections: u32,
    pub(super) lease: Duration,
    pub(super) back_off: Duration,
    pub(super) max_attempts: u16,
}

impl QueueOptions {
    /// Up to 4 connections; a lease of a minute, 5 attempts, and 2 s before the second of them.
    pub fn new(connect: PgConnectOptions) -> Self {
        let (lease, back_off) = (Duration::from_secs(60), Duration::from_secs(2));
        Self { connect, max_connections: 4, lease, back_off, max_attempts: 5 }
    }

    /// The most connections at a time. None is held while a job runs.
    pub const fn max_connections(mut self, most: u32) -> Self {
        self.max_connections = most;
        self
    }

    /// How long a claimed job is invisible to others; see [`QueuedJob::extend`](super::QueuedJob::extend).
    pub const fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// How long a job waits before its second attempt; twice as long before each further one, an hour at most.
    pub const fn back_off(mut self, back_off: Duration) -> Self {
        self.back_off = back_off;
        self
    }

    /// After how many claims a job that was not completed is dead; at least 1.
    pub fn max_attempts(mut self, most: u16) -> Self {
        self.max_attempts = most.max(1);
        self
    }

    pub(super) async fn pool(&self) -> Result<PgPool, PgError> {
        // A stricter level would make one worker fail because another one was faster.
        let connect = quiet(self.connect.clone()).options([("default_transaction_isolation", "read committed")]);
        Ok(PgPoolOptions::new().max_connections(self.max_connections).connect_with(connect).await?)
    }
}

impl fmt::Debug for QueueOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueOptions")
            .field("lease", &self.lease)
            .field("max_attempts", &self.max_attempts)
            .finish_non_exhaustive()
    }
}
