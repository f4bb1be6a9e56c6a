//! A canary suite in which denied is never mistaken for empty.
//!
//! Two tenants each plant a text that occurs nowhere else, and each tries to get the other's, along the paths by which
//! data crosses in an AI back end. An attempt that comes back empty proves nothing by itself: the store may be empty, the
//! service dead, the probe broken. So a pass takes the owner's own successful read, before and after.
//!
//! # How do I obtain a `TenantContext`?
//!
//! From a credential through `Realm::authenticate`; see `tenancy_core`. [`Suite::new`] takes one of each of two tenants
//! kept for this: run it against the deployed service, on every deploy.
//!
//! # Smallest example
//!
//! ```
//! use std::collections::HashMap;
//! use std::sync::{Arc, Mutex};
//!
//! use async_trait::async_trait;
//! use tenancy_canary::*;
//! use tenancy_core::{Life, TenantContext};
//!
//! /// Notes by id, each with its owner's life.
//! #[derive(Clone, Default)]
//! struct Notes(Arc<Mutex<HashMap<String, (Life, String)>>>);
//!
//! #[async_trait]
//! impl Probe for Notes {
//!     fn name(&self) -> &str {
//!         "notes"
//!     }
//!     fn path(&self) -> AttackPath {
//!         AttackPath::DirectId
//!     }
//!     fn expect(&self) -> Expect {
//!         Expect::Denied
//!     }
//!     async fn plant(&self, owner: &TenantContext, canary: &Canary) -> Result<(), NotPlanted> {
//!         let note = (owner.life(), canary.as_str().to_owned());
//!         self.0.lock().map_err(NotPlanted::because)?.insert(canary.reference().to_owned(), note);
//!         Ok(())
//!     }
//!     async fn owner_reads(&self, owner: &TenantContext, canary: &Canary) -> Observation {
//!         self.attack(owner, canary).await
//!     }
//!     async fn attack(&self, other: &TenantContext, canary: &Canary) -> Observation {
//!         match self.0.lock().unwrap().get(canary.reference()) {
//!             Some((life, text)) if *life == other.life() => Observation::Found(text.clone()),
//!             _ => Observation::denied("scope.not_visible"),
//!         }
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! # let tenants = tenancy_testkit::TestTenants::new().await;
//! # let (acme, globex) = (tenants.context("acme").await, tenants.context("globex").await);
//! let report = Suite::new(acme, globex).unwrap().probe(Notes::default()).run().await;
//! println!("{report}");
//! assert_eq!(report.exit_code(), 0);
//! # }
//! ```
//!
//! # What it guarantees
//!
//! - [`Verdict::Pass`] means: both owners read their own canary before and after the attack, and the attempt was refused
//!   for a reason that is about the boundary, or was answered without the other's canary, whichever the probe declared.
//! - A canary counts in any text that the wrong tenant is handed, error texts and its own reads included: in other
//!   letter case, split, cut, in base64, hex, percent-encoded or escaped.
//! - A foreign id and one that never existed are compared byte for byte, when the probe supplies both answers.
//! - The exit code is 0 only when at least one probe ran and every one passed in both directions. It tests itself
//!   against a correct, a leaking, an empty and a failing back end.
//!
//! # What it does not
//!
//! - It proves the paths that have probes. The report names those that have none.
//! - It sees text, not timing, and no encoding that it does not know (compression, encryption, translation).
//! - It believes its probes. A probe that does not go through the code that serves customers proves that other code.
//!
//! Sectum AI has a canary suite of the same method in Python, with more stores; runtime enforcement is out of its scope.
//!
//! # Features
//!
//! None.
//!
//! # MSRV
//!
//! Rust 1.95.

mod canary;
mod probe;
mod report;
mod suite;
mod verdict;

// The public interface is:
pub use canary::{Canary, Form};
pub use probe::{AttackPath, Expect, NotPlanted, Observation, OracleAnswers, Probe};
pub use report::{Report, Row};
pub use suite::{Suite, SuiteError};
pub use verdict::{Cause, Evidence, Verdict};
