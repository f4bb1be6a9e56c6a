//! Tools whose scope the model cannot name.
//!
//! A model calls tools with arguments that anyone may have talked it into: a document, a web page, another customer's
//! ticket. So the arguments never say whose data it is. A [`Tool`] gets handles that are scoped already, its schema is
//! refused at start-up when it could name a tenant, and every call leaves an audit record.
//!
//! # How do I obtain a `TenantContext`?
//!
//! From a credential through `Realm::authenticate`, and in no other way; see `tenancy_core`. [`Tools::scoped`] takes one
//! and gives [`TenantTools`], the only thing here that can call a tool or reach a file.
//!
//! # Smallest example
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use tenancy_core::{Denial, Realm, TenantContext};
//! use tenancy_tools::*;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct ReadArgs {
//!     path: String,
//! }
//!
//! struct ReadFile;
//!
//! impl Tool for ReadFile {
//!     type Args = ReadArgs;
//!     const NAME: &'static str = "read_file";
//!     const VERSION: &'static str = "1";
//!     const DESCRIPTION: &'static str = "Reads a text file";
//!     const EFFECT: Effect = Effect::ReadOnly;
//!
//!     async fn call(&self, scope: &ToolScope<'_>, args: ReadArgs) -> Result<ToolOutput, ToolError> {
//!         let bytes = scope.files().read(&args.path).await?;
//!         Ok(ToolOutput::text(String::from_utf8_lossy(&bytes)))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! # let tenants = tenancy_testkit::TestTenants::new().await;
//! # let folder = tempfile::tempdir().unwrap();
//! # let acme = tenants.context("acme").await;
//! # run(tenants.realm(), &acme, folder.path()).await.unwrap();
//! # }
//! # async fn run(realm: &Realm, acme: &TenantContext, folder: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
//! let mut registry = ToolRegistry::new();
//! registry.register(ReadFile)?;
//! let tools = Tools::new(realm, registry.close(), FilesRoot::provision(folder)?);
//!
//! let mine = tools.scoped(acme)?;
//! mine.files().write("notes.txt", "hello").await?;
//! assert_eq!(mine.call("read_file", r#"{"path":"notes.txt"}"#).await?.as_str(), "hello");
//!
//! let denied = mine.call("read_file", r#"{"path":"notes.txt","tenant_id":"globex"}"#).await;
//! assert!(matches!(denied, Err(ToolsError::Denied(Denial::ScopeArgument))));
//! # Ok(())
//! # }
//! ```
//!
//! # What it guarantees
//!
//! - [`Tools`] has no method that calls a tool, and [`FilesRoot`] none that reaches a file. A [`ToolScope`] can't be
//!   made outside this crate, and does not outlive the call.
//! - Arguments are checked against the schema that the model was given. Names that are repeated, undeclared, or read as
//!   a tenant's (`scope_argument_supplied`) are refused at every depth.
//! - A path that leads outside the tenant's directory is refused by the kernel's own resolution, or by the handle of
//!   what was opened, never by comparing texts. Outside and missing have one face, and no error shows a host's path.
//! - A tool that panics, hangs or answers too much ends its own call. Running calls are capped per tenant; failures
//!   open a breaker for one tenant and one tool.
//! - Every call leaves one record in the tenant's chain, under the tool's name: performed, denied, failed with what
//!   happened, or cancelled. What a scoped handle refused inside has a record of its own as well.
//!
//! # What it does not
//!
//! - The [`lint`] is a heuristic. A tool that takes `{"q": "..."}` and uses it as a tenant's name against a client of
//!   its own is beyond it: give tools scoped handles only.
//! - It does not stop a tool of one tenant from mixing that tenant's own secrets into an answer.
//! - A tool that blocks its thread can't be aborted; its caller is answered in time, its place stays taken. What a tool
//!   spawns for itself lives on.
//! - The panic hook of the process prints a panic's message; set one that does not, if messages may hold content.
//! - Files: no quota over many files, and a mount inside the root is followed. Nobody else should write to the root;
//!   links that somebody makes there are contained, not prevented.
//!
//! # Features
//!
//! None.
//!
//! # MSRV
//!
//! Rust 1.95. Unix only.

mod arguments;
mod erased;
mod error;
mod executor;
mod files;
mod lanes;
mod limits;
mod lint;
mod registry;
mod scope;
mod tool;

// The public interface is:
pub use arguments::InvalidArguments;
pub use error::{Declined, ToolError, ToolsError};
pub use executor::{STORE, TenantTools, Tools};
pub use files::{Entry, EntryKind, FileStat, FilesError, FilesRoot, Listing, TenantFiles};
pub use limits::Limits;
pub use lint::{Finding, Severity, lint};
pub use registry::{AllowedField, Closed, Open, RegistryError, ToolRegistry};
pub use scope::ToolScope;
pub use tool::{Effect, NoArguments, Tool, ToolOutput, ToolSpec};
