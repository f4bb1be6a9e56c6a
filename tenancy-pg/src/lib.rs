//! An inspected Postgres pool whose every statement runs under one tenant's row level security.
//!
//! The pool is of no use before the database was inspected: [`Database<Uninspected>`](Uninspected) has no way to a
//! query. An inspected one gives a [`TenantDb`] for a context, in which each transaction carries the tenant's row key
//! from its first statement to its commit, and a connection reaches the next tenant only after it was shown to be
//! clean.
//!
//! | for | there is |
//! |---|---|
//! | statements and transactions of a tenant | [`TenantDb`], [`TenantTx`], [`TxOptions`], [`TxSettings`], [`TenantSavepoint`], [`TenantDb::with_retry`] |
//! | what belongs to one tenant besides rows | [`TenantTx::lock`], [`TenantTx::notify`] and [`TenantDb::listen`], [`TenantTx::enqueue`] and [`Queue`] |
//! | how a connection comes to know its tenant | [`Mode`], [`Pooler`], [`PgOptions::signed`] |
//! | where reads go | [`PgOptions::replica`], [`TenantDb::read`], [`ReadPoint`] |
//! | the schema | [`Declaration`], [`propose`], [`Migration`], [`migrate`], [`migrate_data`], [`hardening_sql`], [`hardening_sql_keeping`], [`signed_schema_sql`] |
//! | looking whether it holds | [`Inspection`], [`Database::watch`], [`probe`] |
//! | what an operator's grant reads across tenants | [`Database::across`], [`Reports`], [`ReportTx`] |
//! | who the tenants are, and their end | [`ControlStore`], [`TenantRegistry`], [`PgEraser`] |
//!
//! # How do I obtain a `TenantContext`?
//!
//! From a verified credential, through [`tenancy_core::Realm`]; see there. In tests, from
//! `tenancy_testkit::TestTenants`.
//!
//! # Smallest example
//!
//! ```no_run
//! # async fn run(realm: tenancy_core::Realm, ctx: tenancy_core::TenantContext) -> Result<(), Box<dyn std::error::Error>> {
//! use tenancy_pg::{Database, Declaration, PgOptions};
//!
//! let declaration = Declaration::from_toml(&std::fs::read_to_string("tenancy.toml")?)?;
//! let options = PgOptions::new("postgres://app@db.internal/rag".parse()?);
//! let database = Database::open(&realm, options, &declaration).await?; // connects and inspects
//!
//! let mine = database.scoped(&ctx)?;
//! let titles: Vec<String> = sqlx::query_scalar("select title from document order by id").fetch_all(&mine).await?;
//! # let _ = titles;
//! # Ok(())
//! # }
//! ```
//!
//! # What it guarantees
//!
//! - No statement without a context, and none on a database that failed its inspection: superusers, owners, roles that
//!   can become them, missing FORCE, policies that do not bind the tenant, foreign keys that do not pair the tenant
//!   columns, rights to create objects and relations that nobody declared are found before the first request
//!   ([`Inspection`]).
//! - The setting is made from a typed row key and never from text. At the end of each transaction the server shows that
//!   it is the same transaction and still holds that key, in the same round-trip as the commit; otherwise nothing is
//!   committed, the denial ([`Denial::StoreBreach`](tenancy_core::Denial::StoreBreach)) is on record, and the connection
//!   is closed. A transaction that ends without this proof (a lost connection, a dropped stream, a rollback after a
//!   statement that failed) leaves a `failed` record with the rule `pg.unproven`; a statement of its own that the server
//!   refuses leaves one without a rule.
//! - Settings, role, cursors, locks and `LISTEN` of a session are undone before another tenant gets it. A connection whose
//!   future was dropped, whose opening batch failed or which shows temporary objects or prepared statements of somebody's
//!   is closed and not reused.
//! - Statements that end the transaction, change settings or the role, or come in twos are refused before they are sent
//!   ([`Forbidden`]), and that is on record with the rule `pg.guard`.
//! - Nothing that the server or driver quotes is in an error's text, or in its chain of sources.
//!
//! # What it does not
//!
//! - The guard reads the text it is given. What a function runs is out of its sight, `set_config` too. In the plain modes
//!   SQL that changes the setting there, reads, and puts it back sees other tenants' rows and leaves no trace: bind values,
//!   never build SQL from them. Where that can't be had, sign the scope ([`PgOptions::signed`]): the server then takes no
//!   row key that nobody has sealed.
//! - A [`read`](TenantDb::read) that is dropped, and a statement where [`Mode::Sticky`] saves it its transaction, are shown
//!   to have kept their scope after their rows were handed out: a breach there is on record, and too late to stop. Of such a
//!   statement only what outlives it is seen.
//! - Row level security hides rows, not their existence: planner estimates, statistics, sizes of relations, sequences
//!   and unique indexes without the tenant column (a warning) tell of other tenants' rows.
//! - The text of statements, as opposed to bound values, is seen by every session of the same role
//!   (`pg_stat_activity`, `pg_prepared_statements`): never put a value into it.
//! - Large objects have no policies, and Postgres lets every role make and read them: what one tenant's statement puts
//!   into one, every other tenant's statement can read. The inspection warns until a superuser has run
//!   [`hardening_sql`]; [`InspectPolicy::shared_objects`] makes it fatal.
//! - What is committed through [`danger::connection`] is committed. It is a breach and on record as one.
//! - `SECURITY DEFINER` functions that the role may execute are found until somebody has read them and declared it
//!   ([`DeclarationBuilder::trusted_function`]); what is in them is that person's word.
//!
//! # Features
//!
//! None.
//!
//! # MSRV
//!
//! Rust 1.95.

mod batch;
mod bulk;
mod channel;
mod clean;
mod closing;
mod control;
mod copy_out;
pub mod danger;
mod database;
mod declaration;
mod erase;
mod error;
mod event;
mod executor;
mod guard;
mod holder;
mod ident;
mod inspect;
mod lease;
mod lock;
mod migrate;
mod mode;
mod options;
mod policy;
mod pool;
mod pooler;
mod probe;
mod propose;
mod queue;
mod redact;
mod registry;
mod replica;
mod reports;
mod retry;
mod savepoint;
mod scope;
mod seeds;
mod session;
mod signed;
mod statement;
mod stream;
mod tenant_db;
mod tenant_tx;
mod transaction;
mod tx_options;
mod tx_settings;
mod unnamed;
mod untenanted;
mod visible;
mod watch;
mod witness;

// The public interface is:
pub use bulk::{BulkError, BulkInsert};
pub use channel::{Heard, TenantListener};
pub use control::{
    ControlStore, DirectoryHints, PgAuditSink, PgCorpusVersions, PgDirectory, PgKeyStore, PgTicketLedger,
    migrate_audit, migrate_control,
};
pub use copy_out::CopyOut;
pub use database::{Database, Inspected, STORE, Uninspected};
pub use declaration::{
    Declaration, DeclarationBuilder, DeclarationError, LegacyRole, Relation, ReportRelation, RowKeyType, TenantTable,
    TrustedFunction,
};
pub use erase::{PgEraser, erasure_sql};
pub use error::{DriverError, PgError};
pub use guard::Forbidden;
pub use inspect::{Code, Effect, Finding, InspectPolicy, Inspection, Severity, inspect};
pub use migrate::{data_migration_sql, migrate, migrate_data};
pub use mode::Mode;
pub use options::PgOptions;
pub use policy::{
    CutOff, Locks, Migration, MigrationFile, PlanFault, Progress, Roles, Run, Step, grant_sql, hardening_sql,
    hardening_sql_keeping, policy_sql,
};
pub use pooler::Pooler;
pub use probe::{Command, Crossing, CrossingKind, Party, ProbeOptions, ProbeProgress, ProbeReport, Unproven, probe};
pub use propose::{Proposal, Proposed, ProposedView, Undecided, propose};
pub use queue::{AfterRetry, Claimed, Queue, QueueDepth, QueueOptions, QueuedJob, queue_sql};
pub use redact::DatabaseError;
pub use registry::TenantRegistry;
pub use replica::{ReadPoint, ReplicaFault};
pub use reports::{ReportTx, Reports};
pub use retry::RetryOptions;
pub use savepoint::TenantSavepoint;
pub use seeds::SynchronousCommit;
pub use signed::{
    SigningKey, SigningKeyError, SigningKeyId, SigningKeys, registrar_sql, retire_key_sql, signed_schema_sql,
    signing_key_sql,
};
/// The driver, for libraries that run statements on a [`TenantDb`] and know no driver of their own.
#[doc(no_inline)]
pub use sqlx;
pub use tenant_db::TenantDb;
pub use tenant_tx::TenantTx;
pub use tx_options::{Isolation, TxOptions};
pub use tx_settings::{IterativeScan, TxSettings};
pub use untenanted::Untenanted;
pub use visible::{OrNotVisible, Scoped};
pub use watch::{OnFailure, Watch};
