//! A Qdrant server, or a cluster of them, as a back end.
//!
//! ```no_run
//! use tenancy_vector::qdrant::{CollectionName, QdrantBackend, QdrantLayout, QdrantOptions};
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let options = QdrantOptions::new("https://qdrant.example:6334")?.api_key(std::env::var("QDRANT_API_KEY")?.into());
//! let layout = QdrantLayout::Shared { collection: CollectionName::parse("documents")? };
//! let backend = QdrantBackend::connect(options, layout).await?;
//! # Ok(())
//! # }
//! ```
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
