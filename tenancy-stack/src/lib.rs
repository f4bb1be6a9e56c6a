//! Every scoped store of one request in one value: what a service depends on.
//!
//! # How do I obtain a `TenantContext`?
//!
//! From the realm, see [`tenancy_core`]; with the feature `axum` a handler takes [`TenantStores`] and never handles the
//! context at all.
//!
//! # Smallest example
//!
//! ```
//! use tenancy_stack::{Realm, Stores, TenantContext};
//!
//! fn start(realm: &Realm) -> Result<Stores, tenancy_stack::Error> {
//!     Stores::builder(realm).build()      // .database(db).vectors(v).caches(c).tools(t)
//! }
//!
//! fn handle(stores: &Stores, ctx: &TenantContext) -> Result<(), tenancy_stack::Error> {
//!     let mine = stores.scoped(ctx)?;     // owned, cheap to clone, 'static
//!     println!("{:?} may ask: {}", mine.context(), mine.context().roles().len());
//!     Ok(())
//! }
//! ```
//!
//! # What it guarantees
//!
//! [`Stores`] has no data method. [`TenantStores`] reaches the stores of one tenant, in the tenant's region, and nothing
//! else.
//!
//! # What it does not
//!
//! It adds no check of its own: each store does its own, described in its own crate. A `TenantStores` that a program
//! keeps in a global serves whoever finds it until its deadline.
//!
//! # Features
//!
//! `pg`, `vector`, `cache`, `semantic`, `tools` (all on by default) bring the stores; `axum` the extractor and responses. None opens
//! anything.
//!
//! # MSRV
//!
//! Rust 1.95.

#[cfg(feature = "axum")]
mod axum;
mod error;
mod stores;

// The public interface is:
pub use error::Error;
pub use stores::{Stores, StoresBuilder, TenantStores};
#[cfg(feature = "cache")]
pub use tenancy_cache as cache;
#[doc(no_inline)]
pub use tenancy_core as core;
pub use tenancy_core::{
    Authorized, Cells, Credential, Denial, Job, JobKind, JobTicket, Permission, Realm, Scoped, TenantContext,
    TicketUse, Visibility, chat, permission,
};
#[cfg(feature = "pg")]
pub use tenancy_pg as pg;
#[cfg(feature = "tools")]
pub use tenancy_tools as tools;
#[cfg(feature = "vector")]
pub use tenancy_vector as vector;

/// The programs of these pages must compile.
#[cfg(all(doctest, feature = "axum"))]
mod pages {
    #[doc = include_str!("../../docs/guide.md")]
    mod guide {}
    #[doc = include_str!("../../docs/postgres/signed.md")]
    mod signed {}
}
