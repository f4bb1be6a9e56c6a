//! A Qdrant server, or a cluster of them, as a back end.
//!
//! ```no_run
//! use tenancy_vector::qdrant::{CollectionName, QdrantBackend, QdrantLayout, QdrantOptions};
//! use tenancy_vector::{IndexKind, PayloadKey, Schema, VectorQuery, VectorStore};
//!
//! # async fn run(realm: &tenancy_core::Realm, ctx: &tenancy_core::TenantContext) -> Result<(), Box<dyn std::error::Error>> {
//! // Once, at start-up.
//! let options = QdrantOptions::new("https://qdrant.example:6334")?.api_key(std::env::var("QDRANT_API_KEY")?.into());
//! let layout = QdrantLayout::Shared { collection: CollectionName::parse("documents")? };
//! let backend = QdrantBackend::connect(options, layout).await?; // refuses a server before 1.19
//! let schema = Schema::hybrid(768)?.index(PayloadKey::parse("lang")?, IndexKind::Keyword);
//! let vectors = VectorStore::new(realm, backend, schema);
//! vectors.prepare().await?; // makes the collection and its indexes, or says in what the one that is there differs
//!
//! // In each request. With `tenancy-stack`: `Stores::builder(realm).vectors(vectors)`, then `mine.vectors()?`.
//! let hits = vectors.scoped(ctx)?.query(&VectorQuery::dense(vec![0.1; 768])?.limit(10)?).await?;
//! # let _ = hits;
//! # Ok(())
//! # }
//! ```
//!
//! The port is that of gRPC, 6334 unless the server is set up otherwise. The API key needs the right to write, and for
//! [`prepare`](crate::VectorStore::prepare) and the layouts with a place for each life the right to manage collections. A
//! process that only reads may leave `prepare` to another one that starts first.
//!
//! # What it guarantees
//!
//! - Every request carries the life in `must` at its root and in every prefetch, with the caller's conditions beside it
//!   as one nested condition. A selector of points is always such a filter, never a list of ids.
//! - Whatever scores a sparse vector counts terms over the life's own points (`idf.corpus`), or the score of a document
//!   would tell how often other tenants' have its terms.
//! - A server that is too old to know these fields would drop them without a word: it is refused at construction, and
//!   looked at again after every broken connection.
//! - A write is done when the server says `Completed`. One that may have been applied is sent again only where that
//!   changes nothing.
//! - The server's times and costs, which move with what other tenants do, are not handed on.
//!
//! # What it does not
//!
//! - Points of a batch that share an engine id with another point are told apart by their digest, and fail the write;
//!   the others of that batch may be written by then.
//! - That a life was dropped is known to this process. Another one's late write is stopped by the fence, which an
//!   erasure waits for.
//! - A formula reads what the payload holds. One point whose value is of another type fails the tenant's query.

mod admin;
mod backend;
mod breaker;
mod channel;
mod drift;
mod error;
mod expression;
mod filter;
mod layout;
mod options;
mod partitions;
mod query;
mod reads;
mod schema;
mod value;
mod write;
mod writes;

#[cfg(test)]
mod tests;

pub use backend::QdrantBackend;
pub use error::{Drift, QdrantError, Version};
pub use layout::{CollectionName, QdrantLayout};
pub use options::QdrantOptions;
