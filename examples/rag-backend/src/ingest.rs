//! Ingesting a document: enqueued as a ticket bound to its sealed payload, done by a worker that verifies both.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tenancy_stack::core::{Fields, purpose::JobPayload};
use tenancy_stack::vector::{ExternalId, Point, SparseVector};
use tenancy_stack::{JobKind, JobTicket, TenantContext, TenantStores, TicketUse, Visibility, permission};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::ask::embed;
use crate::embed::word_weights;
use crate::error::ServiceError;
use crate::passages::{Document, passages};
use crate::service::Service;

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
/// [`ServiceError::Invalid`] for an id or text out of bounds, or what a store says.
pub async fn enqueue(queue: &Queue, mine: &TenantStores, document: Document) -> Result<Uuid, ServiceError> {
    let context = mine.context();
    context.authorize::<permission::Ingest>()?;
    if document.id.is_empty() || document.id.len() > 256 || document.text.len() > 1 << 20 {
        return Err(ServiceError::Invalid("a document has an id of 1 to 256 bytes and at most 1 MiB of text"));
    }
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

/// Takes jobs until the queue closes. A job that fails is logged by its denial's rule in the audit log and in its row;
/// the worker goes on.
pub(crate) async fn work(service: Service, mut jobs: mpsc::Receiver<Queued>) {
    while let Some(queued) = jobs.recv().await {
        if let Err(error) = perform(&service, queued).await {
            // Safe to print: drivers' texts are withheld.
            eprintln!("ingest: {error}");
        }
    }
}

/// Verifies a job and does it.
///
/// # Errors
/// As [`tenancy_stack::core::Worker::open`], and what a store says.
pub async fn perform(service: &Service, queued: Queued) -> Result<(), ServiceError> {
    let ticket = JobTicket::<Ingest>::from_wire(&queued.ticket)?;
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

async fn store(service: &Service, mine: &TenantStores, document: Document) -> Result<(), ServiceError> {
    let db = mine.database()?;
    let before: Option<String> =
        sqlx::query_scalar("select body from documents where id = $1").bind(&document.id).fetch_optional(&db).await?;
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
    let mut points = Vec::new();
    for (number, passage) in passages(&document.text).into_iter().enumerate() {
        // The title is part of what a passage is about, and no part of what is quoted.
        let about = format!("{}\n{passage}", document.title);
        let dense = embed(service, mine, &about, Visibility::Tenant).await?;
        let (words, weights) = word_weights(&about).into_iter().unzip();
        let mut payload = Map::new();
        payload.insert("document".to_owned(), Value::from(document.id.as_str()));
        payload.insert("passage".to_owned(), Value::from(passage));
        points.push(Point::new(point_id(&document.id, number)?, dense, SparseVector::new(words, weights)?, payload)?);
    }
    let vectors = mine.vectors()?;
    // Passages that the document no longer has.
    let (now, then) = (points.len(), before.as_deref().map_or(0, |text| passages(text).len()));
    let gone = (now..then).map(|number| point_id(&document.id, number)).collect::<Result<Vec<_>, _>>()?;
    if !points.is_empty() {
        vectors.upsert(points).await?;
    }
    if !gone.is_empty() {
        let _deleted = vectors.delete(&gone).await?;
    }
    Ok(())
}

/// Deletes a document and its passages.
pub(crate) async fn remove(mine: &TenantStores, id: &str) -> Result<(), ServiceError> {
    use tenancy_stack::pg::OrNotVisible;

    mine.context().authorize::<permission::Ingest>()?;
    let db = mine.database()?;
    let gone: Option<String> =
        sqlx::query_scalar("delete from documents where id = $1 returning body").bind(id).fetch_optional(&db).await?;
    let text = gone.or_not_visible(&db)?;
    let points =
        (0..passages(&text).len()).map(|number| point_id(id, number)).collect::<Result<Vec<_>, ServiceError>>()?;
    if !points.is_empty() {
        let _deleted = mine.vectors()?.delete(&points).await?;
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
