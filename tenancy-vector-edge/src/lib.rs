//! The embedded Qdrant engine as a back end of `tenancy-vector`: a shard directory per life of a tenant.
//!
//! # How do I obtain a `TenantContext`?
//!
//! From a credential, through the [`Realm`](tenancy_core::Realm), as everywhere.
//!
//! # Smallest example
//!
//! ```
//! use tenancy_vector::*;
//! use tenancy_vector_edge::{EdgeBackend, EdgeOptions};
//!
//! # async fn run(realm: &tenancy_core::Realm, ctx: &tenancy_core::TenantContext, root: &std::path::Path)
//! # -> Result<(), Box<dyn std::error::Error>> {
//! let backend = EdgeBackend::open(EdgeOptions::new(root))?;
//! let store = VectorStore::new(realm, backend, Schema::hybrid(3)?);
//!
//! let mine = store.scoped(ctx)?;
//! let id = ExternalId::parse("handbook#1")?;
//! let terms = SparseVector::new(vec![7, 40], vec![1.0, 2.0])?;
//! mine.upsert(vec![Point::hybrid(id, vec![0.1, 0.2, 0.3], terms.clone(), serde_json::Map::new())?]).await?;
//! let hits = mine.query(&VectorQuery::hybrid(vec![0.1, 0.2, 0.2], terms)?.limit(5)?).await?;
//! # assert_eq!(hits.len(), 1);
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! #     let tenants = tenancy_testkit::TestTenants::new().await;
//! #     let root = tempfile::tempdir().unwrap();
//! #     run(tenants.realm(), &tenants.context("acme").await, root.path()).await.unwrap();
//! # });
//! ```
//!
//! # What it guarantees
//!
//! - Points, indexes and term statistics of two lives share no file. The condition on the life is set on every request
//!   to the engine all the same: nothing that selects points can be asked for without it.
//! - Every kind of search, filter and write of `tenancy-vector` is done, with any vectors and indexes of a schema. A
//!   score is what it would be if the life's points were the only ones, to the bit.
//! - Between equal scores the external id decides, in what is fused too, and between equal values in an order. Counts, also by value, are exact.
//! - A point that is written again keeps no vector that it does not bring.
//! - A write is durable when it returns: the shard is flushed before. The engine's own log is not replayed when a
//!   shard is loaded (0.7.2), so nothing less would do. A crash in the middle of a write may leave any part of it.
//! - Dropping a partition waits for the calls in it, deletes its directory, and refuses whatever comes later. A process
//!   that crashes while it makes or drops a shard leaves a directory that counts as absent.
//! - At most [`max_open_shards`](EdgeOptions::max_open_shards) shards are open. One is opened once, however many ask.
//! - Of the calls under way, [`max_calls`](EdgeOptions::max_calls), a life has a share: writes of one life, which wait for each
//!   other, hold up no other.
//! - A life that was moved away and has no points left leaves no directory.
//! - One process has the root directory; a second one is refused.
//!
//! # What it does not
//!
//! - Searches are exact scans: no graph index is built. That suits some ten thousands of points a tenant.
//! - Deleted points stop being found and counted at once, but their bytes stay in the shard's files. Only dropping the
//!   partition takes them away.
//! - A shard is made for one schema and refuses another, as it does one that this version did not write (manifest of
//!   format 1, which knew no names of vectors): write the points into a new one.
//! - Where more than 20,000 points tie with the last hit, which of them are hits is left to chance.
//! - Files are not encrypted.
//!
//! # Debug builds
//!
//! Some of the engine's own debug assertions (0.7.2) do not hold for filters that it answers rightly, and then a debug build
//! panics. Profiles are those of your workspace, so say there:
//!
//! ```toml
//! [profile.dev.package]
//! qdrant-edge = { debug-assertions = false }
//! ```
//!
//! # Features
//!
//! None. The crate is a member of its own because the engine switches on `serde_json/preserve_order`,
//! `parking_lot/deadlock_detection` and `tokio/full` for whatever builds with it.
//!
//! # MSRV
//!
//! Rust 1.95.

mod backend;
mod engine;
mod files;
mod lower;
mod options;
mod permits;
mod shard;
mod shards;

// The public interface is:
pub use backend::EdgeBackend;
pub use options::{EdgeError, EdgeOptions};
