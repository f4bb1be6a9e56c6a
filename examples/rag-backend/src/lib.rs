//! A RAG service that keeps its customers apart: the reference that teams copy from.
//!
//! # How do I obtain a `TenantContext`?
//!
//! You don't: handlers take [`TenantStores`](tenancy_stack::TenantStores), which the layer around the router has scoped
//! to the tenant of the verified token. Jobs get theirs from the worker that opened their ticket.
//!
//! # Smallest example
//!
//! A handler of this service, whole:
//!
//! ```
//! use axum::extract::Path;
//! use rag_backend::ServiceError;
//! use tenancy_stack::{TenantStores, pg::OrNotVisible};
//!
//! async fn read_title(mine: TenantStores, Path(id): Path<String>) -> Result<String, ServiceError> {
//!     let db = mine.database()?;
//!     let title: Option<String> = sqlx::query_scalar("select title from documents where id = $1")
//!         .bind(&id)
//!         .fetch_optional(&db)
//!         .await?;
//!     Ok(title.or_not_visible(&db)?)
//! }
//! ```
//!
//! # What it guarantees
//!
//! Every store is reached through a scoped handle. A question of one tenant is answered from that tenant's documents,
//! whose own words are quoted; `cargo xtask demo` plays each tenant against the other and fails on any leak.
//!
//! # What it does not
//!
//! It is a reference, not a product: one process, an in-memory queue, logins that exist as long as the process.
//!
//! # Features
//!
//! None.
//!
//! # MSRV
//!
//! Rust 1.95.

mod answer;
mod ask;
mod assist;
mod database;
mod embed;
mod error;
mod extract;
mod http;
mod ingest;
mod login;
mod passages;
mod routes;
mod service;
mod tools;

// The public interface is:
pub use answer::{Answerer, Extractive, OpenAiAnswerer, Reply, Step, extract};
pub use ask::{Answer, Citation, alike_enough};
pub use database::{MIGRATIONS, declaration};
pub use embed::{Embedder, HashedNgrams, OpenAiEmbedder};
pub use error::ServiceError;
pub use http::{UpstreamError, client};
pub use ingest::{Ingest, Queue, Queued, enqueue, perform};
pub use login::{Logins, OperatorLogin};
pub use passages::{Document, passages, read_corpus};
pub use routes::router;
pub use service::{Service, ServiceParts};
pub use tools::{LateService, registry};
