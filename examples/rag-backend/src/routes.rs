//! The routes. Everything but the login stands behind the layer that verifies the credential.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenancy_stack::core::web::AuthLayer;
use tenancy_stack::core::{CredentialFault, Denial};
use tenancy_stack::pg::OrNotVisible;
use tenancy_stack::{TenantStores, permission};
use tower::Layer;
use uuid::Uuid;

use crate::answer::Step;
use crate::ask::{Answer, ask};
use crate::assist::assist;
use crate::error::ServiceError;
use crate::extract::{Body, Named};
use crate::ingest;
use crate::passages::Document;
use crate::service::Service;

/// The whole service as a router.
///
/// What needs a tenant is wrapped as a service by [`AuthLayer`]: its fallback and routes added later are behind it too.
pub fn router(service: &Service) -> Router {
    let protected = Router::new()
        .route("/documents", get(list).post(put))
        .route("/documents/{*id}", get(read).delete(remove))
        .route("/jobs/{id}", get(job))
        .route("/ask", post(question))
        .route("/assist", post(task))
        .route("/tools", get(tools))
        .route("/tools/{name}", post(call))
        .route("/audit", get(audit))
        .fallback(async || Denial::NotVisible)
        .with_state(service.clone());
    Router::new()
        .route("/login", post(login))
        .with_state(service.clone())
        .fallback_service(AuthLayer::new(service.realm().clone()).layer(protected))
}

#[derive(Deserialize)]
struct Login {
    user: String,
    password: SecretString,
}

/// The only route before the layer. What else the body says, a tenant say, has no field to land in.
async fn login(State(service): State<Service>, Body(Json(Login { user, password })): Body<Json<Login>>) -> Response {
    match service.logins().login(&user, &password) {
        Some(token) => Json(json!({ "token": token.expose_secret() })).into_response(),
        None => Denial::from(CredentialFault::Malformed).into_response(),
    }
}

#[derive(Deserialize)]
struct NewDocument {
    id: String,
    title: Option<String>,
    text: String,
}

async fn put(
    mine: TenantStores,
    State(service): State<Service>,
    Body(Json(NewDocument { id, title, text })): Body<Json<NewDocument>>,
) -> Result<Response, ServiceError> {
    let mut document = Document::new(&id, &text);
    if let Some(title) = title {
        document.title = title;
    }
    let job = ingest::enqueue(service.queue(), &mine, document).await?;
    Ok((StatusCode::ACCEPTED, Json(json!({ "job": job }))).into_response())
}

async fn list(mine: TenantStores) -> Result<Json<Value>, ServiceError> {
    let rows: Vec<(String, String)> =
        sqlx::query_as("select id, title from documents order by id").fetch_all(&mine.database()?).await?;
    let documents: Vec<Value> = rows.into_iter().map(|(id, title)| json!({ "id": id, "title": title })).collect();
    Ok(Json(json!({ "documents": documents })))
}

async fn read(mine: TenantStores, Named(id): Named<String>) -> Result<Json<Value>, ServiceError> {
    ingest::ensure_id(&id)?;
    let db = mine.database()?;
    let row: Option<(String, String)> =
        sqlx::query_as("select title, body from documents where id = $1").bind(&id).fetch_optional(&db).await?;
    let (title, text) = row.or_not_visible(&db)?;
    Ok(Json(json!({ "id": id, "title": title, "text": text })))
}

async fn remove(mine: TenantStores, Named(id): Named<String>) -> Result<StatusCode, ServiceError> {
    ingest::remove(&mine, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn job(mine: TenantStores, Named(id): Named<Uuid>) -> Result<Json<Value>, ServiceError> {
    let db = mine.database()?;
    let row: Option<(String, String)> =
        sqlx::query_as("select document, state from ingest_jobs where id = $1").bind(id).fetch_optional(&db).await?;
    let (document, state) = row.or_not_visible(&db)?;
    Ok(Json(json!({ "job": id, "document": document, "state": state })))
}

#[derive(Deserialize)]
struct Question {
    question: String,
}

async fn question(
    mine: TenantStores,
    State(service): State<Service>,
    Body(Json(Question { question })): Body<Json<Question>>,
) -> Result<Json<Answer>, ServiceError> {
    ask(&service, &mine, &question).await.map(Json)
}

#[derive(Deserialize)]
struct Task {
    task: String,
}

async fn task(
    mine: TenantStores,
    State(service): State<Service>,
    Body(Json(Task { task })): Body<Json<Task>>,
) -> Result<Json<Value>, ServiceError> {
    let steps = assist(&service, &mine, &task).await?;
    let shown = |step: &Step| match step {
        Step::Answer(answer) => json!({ "answer": answer }),
        Step::Call { name, arguments } => json!({ "tool": name, "arguments": arguments }),
    };
    Ok(Json(json!({ "steps": steps.iter().map(shown).collect::<Vec<_>>() })))
}

#[derive(Serialize)]
struct Shown {
    name: String,
    description: String,
    parameters: Value,
}

async fn tools(mine: TenantStores) -> Result<Json<Vec<Shown>>, ServiceError> {
    let show = |spec: &tenancy_stack::tools::ToolSpec| Shown {
        name: spec.name.to_owned(),
        description: spec.description.to_owned(),
        parameters: serde_json::from_str(&spec.schema).unwrap_or_default(),
    };
    Ok(Json(mine.tools()?.specs().iter().map(show).collect()))
}

/// A tool as a model would call it: the body is the arguments' text, as the model wrote it.
async fn call(
    mine: TenantStores,
    Named(name): Named<String>,
    Body(arguments): Body<String>,
) -> Result<Json<Value>, ServiceError> {
    let output = mine.tools()?.call(&name, &arguments).await?;
    Ok(Json(json!({ "output": output.as_str() })))
}

async fn audit(mine: TenantStores) -> Result<Json<Value>, ServiceError> {
    let proof = mine.context().authorize::<permission::ReadAudit>()?;
    let records = mine.context().audit(&proof).await?;
    let shown = |r: &tenancy_stack::core::AuditRecord| {
        json!({
            "action": r.action(), "outcome": r.outcome().as_str(), "rule": r.rule(), "store": r.store(),
            "actor": r.actor(), "count": r.count(), "hash": r.hash(),
        })
    };
    Ok(Json(json!({ "records": records.iter().map(shown).collect::<Vec<_>>() })))
}
