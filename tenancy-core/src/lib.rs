//! Tenant contexts that only a verified credential can make, and the checks that every scoped client shares.
//!
//! One AI backend serves many customers; one request touches a vector index, caches, a database, tools and an engine,
//! and each of them can carry one customer's text into another customer's answer. Here a credential is verified once
//! and becomes an immutable [`TenantContext`]. Every client that can reach data has no data method at all until it is
//! given one.
//!
//! # How do I obtain a `TenantContext`?
//!
//! From a credential, through the [`Realm`], and in no other way:
//!
//! 1. Build one [`Realm`] at start-up, from code with [`Realm::builder`] or from `tenancy.toml` with
//!    [`Realm::from_toml`].
//! 2. At the edge, put `web::AuthLayer` around the router (feature `tower`), or call [`Realm::authenticate`] with a
//!    [`Credential`].
//! 3. In a worker, [`Worker::open`] a [`JobTicket`] that a context made.
//!
//! # Smallest example
//!
//! ```
//! use tenancy_core::*;
//!
//! # async fn run(jwks: &str, token: &str) -> Result<(), Box<dyn std::error::Error>> {
//! let directory = StaticDirectory::new();
//! directory.add(
//!     TenantRecord::new(TenantId::parse("acme")?, Life::random(), std::time::SystemTime::now())
//!         .claim("https://login.example", "acme")
//!         .role("https://login.example", "editor", ["use-model", "ingest"]),
//! )?;
//! let realm = Realm::builder(RealmName::parse("prod")?)
//!     .directory(directory)
//!     .issuers([TenantIssuer::new("https://login.example", "rag", Jwks::memory(jwks)?)])
//!     .no_operators()
//!     .keys(LocalKeyProvider::new(RootKey::generate()), MemoryKeyStore::new())
//!     .audit(JsonlSink::open("audit.jsonl")?)
//!     .build()
//!     .await?;
//!
//! let ctx = realm.authenticate(&Credential::bearer(token)).await?;
//! let _may_ingest: Authorized<permission::Ingest> = ctx.authorize()?;
//! realm.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # What it guarantees
//!
//! - No context without a verified credential of a configured issuer, and none for a tenant that the directory does
//!   not know or does not serve.
//! - A context stops by itself: at its deadline, and within the fence's bound (5 s unless configured) once its tenant
//!   is suspended or erased, or the directory can't be heard.
//! - What is derived, sealed or scoped under one life does not open, match or compare under another, nor in another
//!   realm.
//! - Every refusal of a call is typed ([`Denial`]) and on record, in a hash chain of the tenant's own. A check whose
//!   future is dropped leaves a `cancelled` record. ([`TenantContext::ensure`] only looks and records nothing.)
//!
//! # What it does not
//!
//! - It proves "no unscoped call through this API". Code that opens its own connection to a store is beyond the types;
//!   the stores' own mechanisms, the checks on the way back and the canary suite are there for that, and the lint
//!   fragment in `guardrails/` for the reviewer.
//! - An owned context or scoped handle that a program keeps in a global serves whoever finds it, until its deadline.
//! - Whoever holds the root key and the key store can read what was sealed.
//! - A hash chain alone does not show that its newest records were cut off, or that all of it was written again: keep
//!   the head of [`VerifyReport`] somewhere else.
//!
//! # Features
//!
//! None opens anything. `tower`: `web::AuthLayer`. `axum`: the extractor and responses. `fetch`: JWKS over https.
//!
//! # MSRV
//!
//! Rust 1.95.

pub mod audit;
mod breaker;
mod cells;
pub mod chat;
mod clock;
mod config;
mod context;
mod corpus;
mod credential;
mod crossing;
pub mod danger;
mod denial;
mod directory;
mod encode;
mod erasure;
mod fence;
mod gate;
mod grant;
mod id;
mod keys;
mod metrics;
mod names;
pub mod permission;
pub mod purpose;
mod realm;
mod reason;
mod redacted;
mod scoped;
mod seal;
mod shared;
mod ticket;
#[cfg(feature = "tower")]
pub mod web;

// The public interface is:
pub use audit::{
    AuditBatch, AuditError, AuditEvent, AuditRecord, AuditSettings, AuditSink, JsonlSink, MemorySink, Outcome,
    VerifyReport, verify_log,
};
pub use breaker::{BreakerPermit, BreakerSettings, Breakers};
pub use cells::Cells;
pub use clock::{Clock, SystemClock};
pub use config::ConfigError;
pub use context::TenantContext;
pub use corpus::{
    CorpusError, CorpusScope, CorpusVersion, CorpusVersions, FileCorpusVersions, MemoryCorpusVersions, WRITE_LEASE,
    WriteId,
};
pub use credential::{
    ApiKeyId, ApiKeyRecord, Credential, IssuedApiKey, Jwks, JwksError, JwksSource, OperatorIssuer, TenantClaim,
    TenantIssuer,
};
pub use crossing::{Crossing, CrossingTrail};
pub use denial::{CredentialFault, Denial, Face, GrantFault, SealFault, TicketFault};
pub use directory::{
    ApiKeyLookup, DirectoryConflict, DirectoryError, Isolation, Lookup, LookupBy, Placement, Plan, ServiceClass,
    Standing, StaticDirectory, TenantDirectory, TenantRecord,
};
pub use encode::Fields;
pub use erasure::{EraseError, Eraser, ErasureScope, ErasureStep, StoreVerdict};
pub use gate::{CorpusWrite, Entered, Gate, Pass};
pub use grant::{CrossTenantGrant, Operators, Reach};
pub use id::{
    CellName, CorpusName, IdError, Life, RealmName, Region, RequestId, RowKey, StoreName, SubjectId, TenantId,
};
pub use keys::{
    DataKey, FileKeyStore, KeyError, KeyProvider, KeySlot, KeyStore, KeyStoreError, LocalKeyProvider, MemoryKeyStore,
    RootKey, WrappedKey,
};
pub use metrics::{Metric, Recorder};
pub use names::Names;
pub use permission::{Authorized, Permission};
pub use realm::{
    Ready, Realm, RealmBuilder, RealmTag, Selection, Verified, WantsAudit, WantsDirectory, WantsIssuers, WantsKeys,
    WantsOperators, Worker,
};
pub use reason::{Reason, Tellable};
pub use redacted::{BoxError, Redacted};
pub use scoped::{Scoped, Visibility};
pub use seal::Sealed;
pub use shared::{Corpus, CorpusChange, Publication};
pub use ticket::{
    Job, JobKind, JobTicket, LedgerError, MemoryTicketLedger, Redeemed, Redemption, TicketLedger, TicketUse,
};
pub use zeroize::Zeroizing;
