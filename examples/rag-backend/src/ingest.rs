//! Ingesting a document: enqueued as a ticket bound to its sealed payload, done by a worker that verifies both.

use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tenancy_stack::core::{Fields, purpose::JobPayload};
use tenancy_stack::pg::OrNotVisible;
use tenancy_stack::vector::{ExternalId, Point, SparseVector, TenantVectors};
use tenancy_stack::{JobKind, JobTicket, TenantContext, TenantStores, TicketUse, Visibility, permission};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::ask::embed;
use crate::embed::word_weights;
use crate::error::ServiceError;
use crate::passages::{Document, passages};
use crate::service::{Service, WeakService};

/// The job of ingesting one document.
#[derive(Debug)]
#[non_exhaustive]
pub struct Ingest;

impl JobKind for Ingest {
    const NAME: &'static str = "ingest";
    const QUEUE: &'static str = "ingest";
    const MAX_TTL: Duration = Duration::from_secs(600);
    const USE: TicketUse = TicketUse::Once;
}

/// What travels in the queue: a ticket and a payload, both sealed. Whoever reads or writes the queue learns nothing and
/// can change nothing unnoticed.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "the queue's whole format")]
pub struct Queued {
    /// The ticket, as text.
    pub ticket: String,
    /// The sealed payload.
    pub payload: Vec<u8>,
}

/// The queue's end that takes jobs.
pub type Queue = mpsc::Sender<Queued>;

#[derive(Serialize, Deserialize)]
struct Payload {
    job: Uuid,
    id: String,
    title: String,
    text: String,
}

/// Enqueues a document of the tenant and returns the job's id.
///
/// Dropped half-way: the job's row may say `queued` for ever; no half job is in the queue.
///
/// # Errors
/// [`Denial::PermissionMissing`](tenancy_stack::Denial::PermissionMissing) without the permission to ingest,
/// [`ServiceError::Invalid`] for an id, title or text out of bounds, or what a store says.
pub async fn enqueue(queue: &Queue, mine: &TenantStores, document: Document) -> Result<Uuid, ServiceError> {
    let context = mine.context();
    context.authorize::<permission::Ingest>()?;
    ensure_fits(&document)?;
    let job = Uuid::new_v4();
    let db = mine.database()?;
    sqlx::query("insert into ingest_jobs (tenant_id, id, document, state) values ($1, $2, $3, 'queued')")
        .bind(row_key(context))
        .bind(job)
        .bind(&document.id)
        .execute(&db)
        .await?;
    let Document { id, title, text } = document;
    let plain = serde_json::to_vec(&Payload { job, id, title, text }).map_err(|_| ServiceError::Invalid("text"))?;
    let payload = context.seal::<JobPayload>(1, &place(), None, &plain)?.into_bytes();
    let ticket = context.ticket::<Ingest>(&payload, Duration::from_secs(300))?.to_wire();
    queue.send(Queued { ticket, payload }).await.map_err(|_| ServiceError::Invalid("the queue is closed"))?;
    Ok(job)
}

/// Takes jobs until the queue closes or the service is gone. A job that fails is logged by its denial's rule in the audit log and in its row;
/// the worker goes on.
pub(crate) async fn work(service: WeakService, mut jobs: mpsc::Receiver<Queued>) {
    while let Some(queued) = jobs.recv().await {
        let Some(service) = service.upgrade() else { return };
        if let Err(error) = perform(&service, queued).await {
            // Safe to print: drivers' texts are withheld.
            eprintln!("ingest: {error}");
        }
    }
}

/// Verifies a job and does it.
///
/// # Errors
/// As [`tenancy_stack::core::Worker::open`],
/// [`Denial::PermissionMissing`](tenancy_stack::Denial::PermissionMissing) when the enqueuer's roles do not carry the
/// permission to ingest any more, and what a store says.
pub async fn perform(service: &Service, queued: Queued) -> Result<(), ServiceError> {
    let ticket = JobTicket::<Ingest>::from_wire(&queued.ticket);
    let job = service.realm().worker().open(&ticket, queued.payload).await?;
    let plain = job.context().open::<JobPayload>(1, &place(), job.payload())?;
    let Payload { job: id, id: document, title, text } =
        serde_json::from_slice(&plain).map_err(|_| ServiceError::Invalid("payload"))?;
    let mine = service.stores().scoped(job.context())?;
    let outcome = store(service, &mine, Document { id: document, title, text }).await;
    let state = if outcome.is_ok() { "done" } else { "failed" };
    sqlx::query("update ingest_jobs set state = $2 where id = $1")
        .bind(id)
        .bind(state)
        .execute(&mine.database()?)
        .await?;
    outcome
}

/// Writes the document and its passages.
///
/// Whatever step is the last one, the row says at least as many passages as the index holds: what is left can be
/// deleted.
async fn store(service: &Service, mine: &TenantStores, document: Document) -> Result<(), ServiceError> {
    // The role may have been revoked since the job was enqueued.
    mine.context().authorize::<permission::Ingest>()?;
    let db = mine.database()?;
    let before: Option<String> =
        sqlx::query_scalar("select body from documents where id = $1").bind(&document.id).fetch_optional(&db).await?;
    let points = points(service, mine, &document).await?;
    let then = before.as_deref().map_or(0, |text| passages(text).len());
    delete_points(mine, &document.id, points.len()..then).await?;
    sqlx::query(
        "insert into documents (tenant_id, id, title, body) values ($1, $2, $3, $4)
         on conflict (tenant_id, id) do update set title = excluded.title, body = excluded.body",
    )
    .bind(row_key(mine.context()))
    .bind(&document.id)
    .bind(&document.title)
    .bind(&document.text)
    .execute(&db)
    .await?;
    if !points.is_empty() {
        mine.vectors()?.upsert(points).await?;
    }
    Ok(())
}

async fn points(service: &Service, mine: &TenantStores, document: &Document) -> Result<Vec<Point>, ServiceError> {
    let mut points = Vec::new();
    for (number, passage) in passages(&document.text).into_iter().enumerate() {
        // The title is part of what a passage is about, and no part of what is quoted.
        let about = format!("{}\n{passage}", document.title);
        let dense = embed(service, mine, &about, Visibility::Tenant).await?;
        let (words, weights) = word_weights(&about).into_iter().unzip();
        let mut payload = Map::new();
        payload.insert("document".to_owned(), Value::from(document.id.as_str()));
        payload.insert("passage".to_owned(), Value::from(passage));
        points.push(Point::hybrid(
            point_id(&document.id, number)?,
            dense,
            SparseVector::new(words, weights)?,
            payload,
        )?);
    }
    Ok(points)
}

/// Deletes a document and its passages: the passages first, so that whoever is cut off can delete the rest.
///
/// Dropped half-way: the document may be left without some of its passages.
///
/// # Errors
/// [`Denial::PermissionMissing`](tenancy_stack::Denial::PermissionMissing),
/// [`Denial::NotVisible`](tenancy_stack::Denial::NotVisible), or what a store says.
pub(crate) async fn remove(mine: &TenantStores, id: &str) -> Result<(), ServiceError> {
    mine.context().authorize::<permission::Ingest>()?;
    ensure_id(id)?;
    let db = mine.database()?;
    let found: Option<String> =
        sqlx::query_scalar("select body from documents where id = $1").bind(id).fetch_optional(&db).await?;
    let text = found.or_not_visible(&db)?;
    delete_points(mine, id, 0..passages(&text).len()).await?;
    sqlx::query("delete from documents where id = $1").bind(id).execute(&db).await?;
    Ok(())
}

async fn delete_points(mine: &TenantStores, document: &str, numbers: Range<usize>) -> Result<(), ServiceError> {
    let points = numbers.map(|number| point_id(document, number)).collect::<Result<Vec<_>, _>>()?;
    if !points.is_empty() {
        let _deleted = mine.vectors()?.delete(&points).await?;
    }
    Ok(())
}

/// Refuses an id that no document can have.
pub(crate) fn ensure_id(id: &str) -> Result<(), ServiceError> {
    if id.is_empty() || id.len() > 256 || id.contains('\0') {
        return Err(ServiceError::Invalid("a document has an id of 1 to 256 bytes without NUL"));
    }
    Ok(())
}

/// Refuses what a store would refuse for its form once the job is queued.
fn ensure_fits(document: &Document) -> Result<(), ServiceError> {
    let Document { id, title, text } = document;
    ensure_id(id)?;
    if title.len() > 1024 || text.len() > 1 << 20 || title.contains('\0') || text.contains('\0') {
        return Err(ServiceError::Invalid("a document has at most 1 KiB of title and 1 MiB of text, without NUL"));
    }
    if passages(text).len() > TenantVectors::MAX_BATCH {
        return Err(ServiceError::Invalid("a document has at most 10000 passages"));
    }
    Ok(())
}

fn point_id(document: &str, number: usize) -> Result<ExternalId, ServiceError> {
    Ok(ExternalId::parse(&format!("{document}#{number}"))?)
}

/// What tenant tables hold: the life.
pub(crate) fn row_key(context: &TenantContext) -> Uuid {
    context.life().uuid()
}

fn place() -> Fields {
    let mut place = Fields::new();
    place.text(1, "ingest");
    place
}
