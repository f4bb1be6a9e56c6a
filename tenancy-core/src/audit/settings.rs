//! Bounds of the audit queues.

use std::time::Duration;

/// Bounds of the audit queues, each with a default that suits a service on one local disk.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AuditSettings {
    pub(super) capacity: usize,
    pub(super) share: usize,
    pub(super) distinct: usize,
    pub(super) patience: Duration,
}

impl AuditSettings {
    /// How many records one lane holds, waiting or reserved. Default 1024; at least 1, at most 1,048,576.
    ///
    /// A check in progress takes one place, so this is also how many checks of one tenant run at a time.
    #[must_use]
    pub fn capacity(mut self, records: usize) -> Self {
        self.capacity = records.clamp(1, MAX_CAPACITY);
        self
    }

    /// How many records of one lane a round takes at most. Default 64; at least 1.
    #[must_use]
    pub fn share(mut self, records: usize) -> Self {
        self.share = records.max(1);
        self
    }

    /// How many different denials of one lane are watched for repetition at a time. Default 256.
    ///
    /// Those beyond are queued singly while the lane has room, and counted by action, rule and outcome when it has not.
    #[must_use]
    pub const fn distinct(mut self, denials: usize) -> Self {
        self.distinct = denials;
        self
    }

    /// How long a caller waits for a place, or for a record to be durable, before it is refused. Default 2 s; at most an
    /// hour.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience.min(MAX_PATIENCE);
        self
    }
}

impl Default for AuditSettings {
    fn default() -> Self {
        Self { capacity: 1024, share: 64, distinct: 256, patience: Duration::from_secs(2) }
    }
}

const MAX_CAPACITY: usize = 1 << 20;
const MAX_PATIENCE: Duration = Duration::from_secs(3600);
