//! A leased job of which nothing was read yet.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use tenancy_core::purpose::JobPayload;
use tenancy_core::{CredentialFault, Denial, JobKind, JobTicket, TicketFault, Worker};
use uuid::Uuid;

use super::job::{Lease, QueuedJob};
use super::{SCHEMA, Shared, place, seconds};
use crate::error::PgError;
use crate::registry::row_key_text;

/// A leased job. Its only way on is [`open`](Self::open): there is no payload and no tenant before a ticket was
/// verified. Dropped, the job is visible again after its lease.
#[must_use = "a job that is dropped is visible again after its lease"]
pub struct Claimed<K: JobKind> {
    lease: Lease,
    ticket: String,
    sealed: Vec<u8>,
    row_key: String,
    kind: PhantomData<fn() -> K>,
}

/// What a claim returns; the job may have had its last attempt.
#[derive(sqlx::FromRow)]
struct Row {
    id: i64,
    lease: Uuid,
    attempts: i32,
    dead: bool,
    ticket: String,
    payload: Vec<u8>,
    row_key: String,
}

pub(super) async fn claim<K: JobKind>(shared: &Arc<Shared>) -> Result<Option<Claimed<K>>, PgError> {
    loop {
        let row: Option<Row> = sqlx::query_as(CLAIM)
            .bind(K::QUEUE)
            .bind(K::NAME)
            .bind(seconds(shared.options.lease))
            .bind(i32::from(shared.options.max_attempts))
            .fetch_optional(&shared.pool)
            .await?;
        let Some(Row { id, lease, attempts, dead, ticket, payload, row_key }) = row else { return Ok(None) };
        // Whoever had its last attempt was not heard of again. The next one is in another lane's turn or this one's.
        if !dead {
            let lease = Lease { shared: Arc::clone(shared), id, token: lease, attempts };
            return Ok(Some(Claimed { lease, ticket, sealed: payload, row_key, kind: PhantomData }));
        }
    }
}

impl<K: JobKind> Claimed<K> {
    /// Verifies the ticket and opens the payload. What can't be opened by anybody is dead from then on; what could not be
    /// verified just now waits for another attempt.
    ///
    /// Dropped before it answers: the job is visible again after its lease; a ticket for single use may be used up.
    ///
    /// # Errors
    /// [`PgError::Denied`] as [`Worker::open`], and when the payload is not the tenant's; recorded.
    /// [`Denial::StoreBreach`] when the row lay in another tenant's lane.
    pub async fn open(self, worker: &Worker) -> Result<QueuedJob<K>, PgError> {
        let Self { lease, ticket, sealed, row_key, kind: _ } = self;
        let opened = async {
            let job = worker.open(&JobTicket::<K>::from_wire(&ticket), sealed).await?;
            let pass = lease.shared.gate.everywhere(job.context())?;
            let own = row_key_text(job.context().record().row_key());
            if !own.is_ok_and(|(_, own)| own == row_key) {
                return Err(pass.refuse("job.open", Denial::StoreBreach));
            }
            let payload = job.context().open::<JobPayload>(SCHEMA, &place::<K>(), job.payload())?;
            Ok((job, payload))
        };
        match opened.await {
            Ok((job, payload)) => Ok(QueuedJob::new(lease, job, payload)),
            Err(denial) => {
                // Left as it is where that fails, the lease decides.
                let _settled = match is_final(denial) {
                    true => lease.bury(denial.rule()).await,
                    false => lease.back_off().await.map(drop),
                };
                Err(denial.into())
            }
        }
    }
}

/// Whether no later attempt can end otherwise.
const fn is_final(denial: Denial) -> bool {
    match denial {
        Denial::Ticket(fault) => !matches!(fault, TicketFault::LedgerUnavailable),
        Denial::Credential(fault) => matches!(fault, CredentialFault::BeforeLife),
        Denial::ForeignRealm
        | Denial::WrongLife
        | Denial::StoreBreach
        | Denial::TenantErased
        | Denial::KeyDestroyed
        | Denial::Seal(_) => true,
        _passing => false,
    }
}

impl<K: JobKind> fmt::Debug for Claimed<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Claimed<{}>(attempt {})", K::NAME, self.lease.attempts)
    }
}

/// One statement. `lane` steps from tenant to tenant through the index, so a flood in one of them is not read. The lanes
/// come in the order of their last turn; the first that has a job nobody else is just taking gives it.
///
/// Claims that run at the same moment may find one lane to be next: it is then ahead by as many turns, once.
const CLAIM: &str = "
with recursive lane(row_key) as (
    (select row_key from tenancy_queue.job where queue = $1 and kind = $2 and dead is null order by row_key limit 1)
    union all
    select (select j.row_key from tenancy_queue.job j
            where j.queue = $1 and j.kind = $2 and j.dead is null and j.row_key > lane.row_key
            order by j.row_key limit 1)
    from lane where lane.row_key is not null
), picked as (
    select found.id, found.row_key
    from (select lane.row_key from lane
          left join tenancy_queue.turn t on t.queue = $1 and t.kind = $2 and t.row_key = lane.row_key
          where lane.row_key is not null order by coalesce(t.served, 0), lane.row_key) as next
    cross join lateral (
        select j.id, j.row_key from tenancy_queue.job j
        where j.queue = $1 and j.kind = $2 and j.dead is null and j.row_key = next.row_key and j.visible_at <= now()
        order by j.visible_at, j.id limit 1 for update skip locked) as found
    limit 1
), served as (
    insert into tenancy_queue.turn as t (queue, kind, row_key, served)
    select $1, $2, row_key, nextval('tenancy_queue.turns') from picked
    on conflict (queue, kind, row_key) do update set served = excluded.served
)
update tenancy_queue.job j
set attempts = j.attempts + 1, lease = gen_random_uuid(), visible_at = now() + make_interval(secs => $3),
    dead = case when j.attempts >= $4 then 'attempts' end
from picked where j.id = picked.id
returning j.id, j.lease, j.attempts, j.dead is not null as dead, j.ticket, j.payload, j.row_key::text";
