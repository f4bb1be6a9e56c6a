//! Jobs in the tenants' own database, so that a job exists if and only if the transaction that asked for it commits.

mod claim;
mod enqueue;
mod job;
mod options;
mod schema;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgPool;
use tenancy_core::{Fields, Gate, JobKind, Realm};

pub use claim::Claimed;
pub use job::{AfterRetry, QueuedJob};
pub use options::QueueOptions;
pub(crate) use schema::as_made;
pub use schema::queue_sql;

use crate::database::STORE;
use crate::error::PgError;

/// The workers' side of the job queue, on a login role of their own.
///
/// The service's side is [`TenantTx::enqueue`](crate::TenantTx::enqueue), which may add jobs and never sees one. A job
/// is a row with a sealed payload and a ticket that binds the sealed bytes; nothing of it is read before
/// [`Claimed::open`] has verified the ticket against the directory as it is then.
///
/// # Delivery
/// At least once. A claimed job is invisible for the lease; whoever claimed it completes it, gives it back, or is not
/// heard of again, and then it is visible once more. After [`QueueOptions::max_attempts`] claims it is dead: it stays,
/// with the reason, until somebody looks. A kind of [`TicketUse::Once`](tenancy_core::TicketUse::Once) runs at most
/// once: its second delivery is refused by the ledger, and it is dead.
///
/// # Fairness
/// Every tenant has a lane in each queue and kind. A claim takes the oldest visible job of the lane that was served
/// longest ago, so with `n` tenants waiting a tenant gets every `n`th claim, however many jobs another one has put in.
/// Which lane a job is in is not up to its SQL: row level security ties it to the row key of the transaction.
///
/// ```no_run
/// # use std::time::Duration;
/// # use tenancy_core::{JobKind, Realm, TicketUse};
/// # use tenancy_pg::{PgError, Queue, QueueOptions};
/// # struct Ingest;
/// # impl JobKind for Ingest {
/// #     const NAME: &'static str = "ingest";
/// #     const QUEUE: &'static str = "default";
/// #     const MAX_TTL: Duration = Duration::from_secs(3600);
/// #     const USE: TicketUse = TicketUse::Repeatable;
/// # }
/// # async fn run(realm: &Realm) -> Result<(), Box<dyn std::error::Error>> {
/// let queue = Queue::connect(realm, QueueOptions::new("postgres://worker@db.internal/rag".parse()?)).await?;
/// let worker = realm.worker();
/// while let Some(claimed) = queue.claim::<Ingest>().await? {
///     let Ok(job) = claimed.open(&worker).await else { continue }; // refused, on record, and out of the way
///     // .. database.scoped(job.context())?, job.payload() ..
///     job.complete().await?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Queue {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    gate: Gate,
    pool: PgPool,
    options: QueueOptions,
}

/// How many jobs there are of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
#[non_exhaustive]
pub struct QueueDepth {
    /// Could be claimed now.
    pub visible: i64,
    /// Leased, or waiting to be tried again.
    pub waiting: i64,
    /// Given up.
    pub dead: i64,
}

impl Queue {
    /// Connects and looks at what the role may do. Dropped before it answers: nothing is left behind.
    ///
    /// # Errors
    /// [`PgError::ControlRole`] for a role that may not do a worker's work, and for one that may add jobs, is a
    /// superuser, goes past row level security, or can become the owner. [`PgError`] when it can't connect.
    pub async fn connect(realm: &Realm, options: QueueOptions) -> Result<Self, PgError> {
        let pool = options.pool().await?;
        let worker: Option<bool> = sqlx::query_scalar(schema::IS_WORKER).fetch_optional(&pool).await?.flatten();
        if worker != Some(true) {
            return Err(PgError::ControlRole);
        }
        Ok(Self { shared: Arc::new(Shared { gate: Gate::new(realm, STORE), pool, options }) })
    }

    /// Leases the next job of the kind, or `None` when none is visible. Dropped before it answers: a job may have been
    /// leased, and is visible again after its lease.
    ///
    /// # Errors
    /// [`Denial::RealmClosed`](tenancy_core::Denial::RealmClosed), or [`PgError`] when the database did not answer.
    pub async fn claim<K: JobKind>(&self) -> Result<Option<Claimed<K>>, PgError> {
        self.shared.gate.ensure_open()?;
        claim::claim(&self.shared).await
    }

    /// How many jobs of the kind there are, of all tenants together. It only looks, and may be dropped.
    ///
    /// # Errors
    /// [`PgError`] when the database did not answer.
    pub async fn depth<K: JobKind>(&self) -> Result<QueueDepth, PgError> {
        Ok(sqlx::query_as(DEPTH).bind(K::QUEUE).bind(K::NAME).fetch_one(&self.shared.pool).await?)
    }

    /// Gives every dead job of the kind a new start, and says how many there were. What made them dead may still hold.
    /// Dropped before it answers, it may have happened.
    ///
    /// # Errors
    /// [`PgError`] when the database did not answer.
    pub async fn revive<K: JobKind>(&self) -> Result<u64, PgError> {
        let revived = sqlx::query(REVIVE).bind(K::QUEUE).bind(K::NAME).execute(&self.shared.pool).await?;
        Ok(revived.rows_affected())
    }

    /// Closes the connections. Idempotent. Dropped before it answers: none is given any more; call it again to wait.
    pub async fn close(&self) {
        self.shared.pool.close().await;
    }
}

impl Shared {
    /// How long a job waits after so many attempts: twice as long each time.
    fn back_off(&self, attempts: i32) -> Duration {
        let doublings = u32::try_from(attempts - 1).unwrap_or(0).min(31);
        (self.options.back_off * 2_u32.saturating_pow(doublings)).min(LONGEST_BACK_OFF)
    }
}

/// What a payload is sealed to: one that was sealed for another kind or queue does not open.
fn place<K: JobKind>() -> Fields {
    let mut place = Fields::new();
    place.text(1, K::QUEUE).text(2, K::NAME);
    place
}

/// A length of time as Postgres takes it.
fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

const SCHEMA: u16 = 1;
const LONGEST_BACK_OFF: Duration = Duration::from_secs(3600);

const DEPTH: &str = "
select count(*) filter (where dead is null and visible_at <= now()) as visible,
       count(*) filter (where dead is null and visible_at > now()) as waiting,
       count(*) filter (where dead is not null) as dead
from tenancy_queue.job where queue = $1 and kind = $2";

const REVIVE: &str = "
update tenancy_queue.job set dead = null, attempts = 0, lease = null, visible_at = now()
where queue = $1 and kind = $2 and dead is not null";

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Queue")
    }
}
